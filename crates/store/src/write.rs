//! A run's life in the store: begun, saved in between, finished or abandoned.

use crate::compression::compress_record;
use crate::state::{Measured, Owner, State, owner_of};
use crate::tables::{self, disks_in};
use crate::{Alive, Store, StoreError};
use fathom_record::ResultRecord;
use rusqlite::{Connection, params};

impl Store {
    /// Marks a run as in progress before anything is measured. `record` is what is known then: no runs, no
    /// figures. `disks` is the number of physical disks; answers the run's number.
    pub fn begin(
        &mut self,
        record: &ResultRecord,
        owner: &Owner,
        disks: Option<u32>,
    ) -> Result<i64, StoreError> {
        let disks = disks.map(i64::from).or_else(|| disks_in(record));
        self.write(record, State::InProgress, Measured::Nothing, |transaction| {
            transaction.execute(
                "UPDATE results SET owner_pid = ?2, owner_start = ?3, owner_boot = ?4, num_physical_disks = ?5
                 WHERE id = ?1",
                params![record.id, owner.pid, owner.start as i64, owner.boot, disks],
            )
        })
    }

    /// Keeps what was measured so far; the run stays in progress. To be called after every phase: what is saved
    /// survives a kill of the process (and, without a sync, not always the death of the machine).
    pub fn save_partial(&mut self, record: &ResultRecord) -> Result<i64, StoreError> {
        self.write(record, State::InProgress, Measured::Something, |_| Ok(0))
    }

    /// Keeps a run that has ended, whole and in one transaction, and answers its number. One that was never begun
    /// (an import) is added. On return it is on the disk.
    pub fn finish(&mut self, record: &ResultRecord) -> Result<i64, StoreError> {
        let number = self.write(record, State::of(record.ending), Measured::Something, |_| Ok(0))?;
        // Syncs, and leaves one file that any reader can take. A reader that holds it up does no harm.
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        Ok(number)
    }

    /// Ends a run that will not be finished: forgotten when nothing was saved of it, else kept as interrupted.
    pub fn abandon(&mut self, id: &str) -> Result<(), StoreError> {
        let transaction = self.transaction()?;
        let done = (|| {
            transaction.execute(
                "DELETE FROM results WHERE id = ?1 AND state = 'in progress' AND measured = 0",
                [id],
            )?;
            transaction.execute(
                "UPDATE results SET state = 'interrupted' WHERE id = ?1 AND state = 'in progress'",
                [id],
            )?;
            transaction.commit()
        })();
        done.map_err(|error| self.error(error))
    }

    /// Marks runs in progress whose owner is dead as interrupted, so that those who read the file without fathom
    /// see it too; answers their names.
    pub fn settle(&mut self, alive: Alive) -> Result<Vec<String>, StoreError> {
        let transaction = self.transaction()?;
        let done = (|| {
            let mut dead = Vec::new();
            let mut rows = transaction.prepare(
                "SELECT id, owner_pid, owner_start, owner_boot FROM results WHERE state = 'in progress'",
            )?;
            let mut rows_found = rows.query([])?;
            while let Some(row) = rows_found.next()? {
                if !owner_of(row, 1)?.is_some_and(|owner| alive(&owner)) {
                    dead.push(row.get::<_, String>(0)?);
                }
            }
            drop(rows_found);
            drop(rows);
            for id in &dead {
                transaction.execute("UPDATE results SET state = 'interrupted' WHERE id = ?1", [id])?;
            }
            transaction.commit()?;
            Ok(dead)
        })();
        done.map_err(|error| self.error(error))
    }

    fn write(
        &mut self,
        record: &ResultRecord,
        state: State,
        measured: Measured,
        then: impl FnOnce(&Connection) -> rusqlite::Result<usize>,
    ) -> Result<i64, StoreError> {
        let data = compress_record(record).map_err(|error| StoreError::Record {
            path: self.path().to_path_buf(),
            id: record.id.clone(),
            why: error.to_string(),
        })?;
        let transaction = self.transaction()?;
        let done = (|| {
            let number = tables::put(&transaction, record, &data, state, measured)?;
            then(&transaction)?;
            transaction.commit()?;
            Ok(number)
        })();
        done.map_err(|error| self.error(error))
    }
}
