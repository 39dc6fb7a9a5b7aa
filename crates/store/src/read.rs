//! Finding runs again.

use crate::compression::{Compressed, uncompress};
use crate::state::{State, owner_of};
use crate::upgrade::upgrade;
use crate::{Alive, Store, StoreError};
use fathom_record::{Ending, ResultRecord, VerdictState};
use rusqlite::{Row, params_from_iter};

/// A figure and its error, both in the unit of the field that holds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Half the width of its confidence interval; `None` when it could not be told.
    pub half_width: Option<f64>,
}

/// One line of the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// Its number in this store: 1, 2, 3 ... in the order in which they began; never given twice.
    pub number: i64,
    /// Its name, which no other run has anywhere.
    pub id: String,
    /// What made it: `calibrate`, `run`, `fio` ...
    pub tool: String,
    /// The user's own name for it.
    pub label: Option<String>,
    /// The targets: paths from the root on, other names as the user gave them.
    pub targets: Vec<String>,
    /// The machine that measured.
    pub host: Option<String>,
    /// The disks below the targets, by their kernel's names with commas between them.
    pub device: Option<String>,
    /// When it began, RFC 3339.
    pub started: String,
    /// When it ended, RFC 3339; `None` for one in progress or whose owner died.
    pub ended: Option<String>,
    /// How far it is.
    pub state: State,
    /// Whether its figures can be believed; `None` for one that never ended.
    pub verdict: Option<VerdictState>,
    /// Physical disks under the targets.
    pub num_physical_disks: Option<u32>,
    /// Most small reads a second within the latency limit; of a load, its operations a second.
    pub iops: Option<Estimate>,
    /// Their mean latency, ns.
    pub latency_ns: Option<Estimate>,
    /// Most large reads a second, in units of 2^20 bytes; of a load, all that it moved.
    pub mbps: Option<Estimate>,
}

/// A run found again. For one that never ended, `record.ending` is `Interrupted` and `listing.state` tells more.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its line in the history.
    pub listing: Listing,
    /// All that is known of it.
    pub record: ResultRecord,
}

/// Which runs to list. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub tool: Option<String>,
    pub label: Option<String>,
    pub state: Option<State>,
    /// One of its targets is this one.
    pub target: Option<String>,
    pub host: Option<String>,
    /// One of its disks has this name.
    pub device: Option<String>,
    /// Begun at this moment or later: RFC 3339, or a date.
    pub since: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// Where calibration stands, in the words of Oracle's `V$IO_CALIBRATION_STATUS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calibrating {
    /// One runs now.
    InProgress,
    /// None runs, and there is a result.
    Ready,
    /// None runs, and there is no result.
    NotAvailable,
}

impl std::fmt::Display for Calibrating {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Calibrating::InProgress => "IN PROGRESS",
            Calibrating::Ready => "READY",
            Calibrating::NotAvailable => "NOT AVAILABLE",
        })
    }
}

/// The answer of `fathom status`.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub state: Calibrating,
    /// The calibrations that run now, newest first.
    pub running: Vec<Listing>,
    /// The last one that was completed.
    pub latest: Option<Listing>,
}

const LISTING: &str = "
    SELECT number, r.id, tool, label, targets, started, ended, state, verdict, num_physical_disks,
           owner_pid, owner_start, owner_boot,
           iops.value, iops.half_width, latency.value, latency.half_width, mbps.value, mbps.half_width, host, device
    FROM results r
    LEFT JOIN figures iops ON iops.id = r.id AND iops.name =
        (SELECT max(name) FROM figures WHERE id = r.id AND name IN ('max_iops', 'iops'))
    LEFT JOIN figures latency ON latency.id = r.id AND latency.name =
        (SELECT min(name) FROM figures WHERE id = r.id AND name IN ('latency', 'read_latency', 'write_latency'))
    LEFT JOIN figures mbps ON mbps.id = r.id AND mbps.name =
        (SELECT min(name) FROM figures WHERE id = r.id AND name IN ('max_mbps', 'mbps'))";

impl Store {
    /// The runs that a filter lets through, newest first. One in progress whose owner is dead is interrupted.
    pub fn list(&self, filter: &Filter, alive: Alive) -> Result<Vec<Listing>, StoreError> {
        let Filter { tool, label, state, target, host, device, since, limit } = filter;
        let mut listed = self.listings(
            "WHERE (?1 IS NULL OR tool = ?1) AND (?2 IS NULL OR label = ?2)
             AND (?3 IS NULL OR EXISTS (SELECT 1 FROM json_each(targets) WHERE value = ?3))
             AND (?4 IS NULL OR host = ?4) AND (?5 IS NULL OR instr(',' || device || ',', ',' || ?5 || ',') > 0)
             AND (?6 IS NULL OR datetime(started) >= datetime(?6))
             ORDER BY number DESC",
            &[tool, label, target, host, device, since].map(|value| value.as_deref()),
            alive,
        )?;
        // Only the owner's fate tells the state, so that SQL cannot choose by it.
        listed.retain(|listing| state.is_none_or(|state| listing.state == state));
        listed.truncate(limit.unwrap_or(usize::MAX));
        Ok(listed)
    }

    /// A run by its name, the beginning of its name, its number (`7` or `#7`), or `last`: the newest that has
    /// ended, else the newest.
    pub fn get(&self, wanted: &str, alive: Alive) -> Result<Stored, StoreError> {
        let wanted = wanted.trim();
        let number = wanted.strip_prefix('#').unwrap_or(wanted);
        let one = |sql, parameter| self.listings(sql, &[Some(parameter)], alive);
        let mut found = one("WHERE r.id = ?1", wanted)?;
        if found.is_empty() && wanted == "last" {
            let all = self.listings("ORDER BY number DESC", &[], alive)?;
            let ended = all.iter().position(|listing| listing.state != State::InProgress);
            found = all.into_iter().skip(ended.unwrap_or(0)).take(1).collect();
        }
        if found.is_empty() {
            found = one("WHERE CAST(number AS TEXT) = ?1", number)?;
        }
        if found.is_empty() && !wanted.is_empty() {
            found = one("WHERE substr(r.id, 1, length(?1)) = ?1 ORDER BY number DESC LIMIT 5", wanted)?;
        }
        match (found.pop(), found.is_empty()) {
            (Some(listing), true) => self.stored(listing),
            (Some(last), false) => Err(StoreError::Ambiguous {
                wanted: wanted.into(),
                found: found.into_iter().chain([last]).map(|listing| listing.id).collect(),
            }),
            (None, _) => Err(StoreError::NotFound { path: self.path().into(), wanted: wanted.into() }),
        }
    }

    /// The newest calibration that was completed.
    pub fn latest_calibration(&self) -> Result<Option<Stored>, StoreError> {
        match self.latest_listing()? {
            Some(listing) => self.stored(listing).map(Some),
            None => Ok(None),
        }
    }

    /// Does a calibration run, is there a result, and since when?
    pub fn status(&self, alive: Alive) -> Result<Status, StoreError> {
        let mut running = self.listings(
            "WHERE tool = 'calibrate' AND state = 'in progress' AND simulated = 0 ORDER BY number DESC",
            &[],
            alive,
        )?;
        running.retain(|listing| listing.state == State::InProgress);
        let latest = self.latest_listing()?;
        let state = match (running.is_empty(), &latest) {
            (false, _) => Calibrating::InProgress,
            (true, Some(_)) => Calibrating::Ready,
            (true, None) => Calibrating::NotAvailable,
        };
        Ok(Status { state, running, latest })
    }

    fn latest_listing(&self) -> Result<Option<Listing>, StoreError> {
        let sql = "WHERE r.id = (SELECT id FROM latest_calibration)";
        Ok(self.listings(sql, &[], &|_| false)?.into_iter().next())
    }

    fn listings(
        &self,
        condition: &str,
        parameters: &[Option<&str>],
        alive: Alive,
    ) -> Result<Vec<Listing>, StoreError> {
        let read = || {
            let mut select = self.connection.prepare_cached(&format!("{LISTING} {condition}"))?;
            select.query_map(params_from_iter(parameters), |row| listing_of(row, alive))?.collect()
        };
        let found: rusqlite::Result<Vec<Listing>> = read();
        found.map_err(|error| self.error(error))
    }

    fn stored(&self, listing: Listing) -> Result<Stored, StoreError> {
        let data = self
            .connection
            .query_row(
                "SELECT size_bytes, zlib FROM record_data WHERE number = ?1",
                [listing.number],
                |row| Ok(Compressed { size_bytes: row.get::<_, i64>(0)? as usize, zlib: row.get(1)? }),
            )
            .map_err(|error| self.error(error))?;
        let unread =
            |why: String| StoreError::Record { path: self.path().into(), id: listing.id.clone(), why };
        let json = uncompress(&data.zlib, data.size_bytes).map_err(|error| unread(error.to_string()))?;
        let mut record: ResultRecord =
            serde_json::from_slice(&json).map_err(|error| unread(error.to_string()))?;
        upgrade(&mut record);
        if matches!(listing.state, State::InProgress | State::Interrupted) {
            record.ending = Ending::Interrupted;
        }
        Ok(Stored { listing, record })
    }
}

fn listing_of(row: &Row, alive: Alive) -> rusqlite::Result<Listing> {
    let estimate = |first: usize| -> rusqlite::Result<Option<Estimate>> {
        let half_width = row.get(first + 1)?;
        Ok(row.get::<_, Option<f64>>(first)?.map(|value| Estimate { value, half_width }))
    };
    let state = match State::named(&row.get::<_, String>(7)?) {
        State::InProgress if !owner_of(row, 10)?.is_some_and(|owner| alive(&owner)) => State::Interrupted,
        state => state,
    };
    let verdict = row.get::<_, Option<String>>(8)?;
    Ok(Listing {
        number: row.get(0)?,
        id: row.get(1)?,
        tool: row.get(2)?,
        label: row.get(3)?,
        targets: serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or_default(),
        started: row.get(5)?,
        ended: row.get(6)?,
        state,
        verdict: verdict.and_then(|word| serde_json::from_value(word.into()).ok()),
        num_physical_disks: row.get(9)?,
        iops: estimate(13)?,
        latency_ns: estimate(15)?,
        mbps: estimate(17)?,
        host: row.get(19)?,
        device: row.get(20)?,
    })
}
