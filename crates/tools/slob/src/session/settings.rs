//! From what was typed, and the configuration file that lies here, to settings.

use super::args::{Place, Tables, Work};
use crate::{Settings, Words, read_conf};
use anyhow::{Context as _, Result, bail};
use fathom_session::{Session, WrongUsage};
use std::path::{Path, PathBuf};

/// Settings, and where they were found.
pub struct CommandSettings {
    /// The file's, with what was typed put over it.
    pub settings: Settings,
    /// The file that was read.
    pub conf: Option<PathBuf>,
    /// Was a number of schemas said?
    pub schemas_said: bool,
    /// Was SCALE said?
    pub scale_said: bool,
}

/// Wrong words of the user: exit status 2.
pub fn wrong(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow::Error::new(WrongUsage(error.to_string()))
}

/// Reads the configuration file that was named, or the one that lies here as the scripts expect it.
pub fn read(place: &Place) -> Result<CommandSettings> {
    let found = match (&place.conf, place.no_conf) {
        (Some(named), _) => Some(named.clone()),
        (None, true) => None,
        (None, false) => ["slob.conf", "pgio.conf"].iter().map(PathBuf::from).find(|path| path.is_file()),
    };
    let Some(path) = found else {
        let settings = Settings::default();
        return Ok(CommandSettings { settings, conf: None, schemas_said: false, scale_said: false });
    };
    let text = fathom_host::text_file::read(&path)
        .with_context(|| format!("cannot read {}", fathom_spec::names::shown(&path)))?;
    let name = fathom_spec::names::shown(path.file_name().unwrap_or(path.as_os_str()));
    let settings = read_conf(&name, &text).map_err(wrong)?;
    let said = |name: &str| text.lines().any(|line| line.trim_start().starts_with(name));
    Ok(CommandSettings {
        schemas_said: said("NUM_SCHEMAS="),
        scale_said: said("SCALE="),
        settings,
        conf: Some(path),
    })
}

impl CommandSettings {
    /// Sets one parameter by a flag: its number means what the flag's help says, whosever file was read.
    fn flag(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        let words = std::mem::replace(&mut self.settings.words, Words::Own);
        let set = self.settings.set(name, value).map_err(wrong);
        self.settings.words = words;
        set
    }

    /// Puts what was typed of the tables over it.
    pub fn tables(&mut self, tables: &Tables) -> Result<()> {
        let Tables { scale, scan_table_size, load_parallel_degree, obfuscate_columns, unique_index } = tables;
        self.flag("SCALE", scale.as_deref())?;
        self.scale_said |= scale.is_some();
        self.flag("SCAN_TABLE_SZ", scan_table_size.as_deref())?;
        self.flag("LOAD_PARALLEL_DEGREE", load_parallel_degree.as_deref())?;
        self.settings.obfuscate |= obfuscate_columns;
        self.settings.unique_index |= unique_index;
        Ok(())
    }

    /// Puts what was typed of the load over it.
    pub fn work(&mut self, work: &Work, session: &Session<'_>) -> Result<()> {
        // Units said by a flag are blocks, whatever a file's unit means.
        let units = work.work_unit.is_some() || work.update_work_unit.is_some();
        if units && self.settings.words != Words::Own {
            let (select, update) = (self.settings.select_touches(), self.settings.update_touches());
            self.settings.work_unit = select;
            self.settings.update_work_unit = Some(update);
            self.settings.words = Words::Own;
        }
        let consents =
            work.allow_exec || session.environment.exec_consent() || work.external_script.is_some();
        if let (Some(script), false) = (&self.settings.external_script, consents) {
            let conf = self.conf.as_deref().map_or_else(String::new, fathom_spec::names::shown);
            bail!(
                "{conf} names EXTERNAL_SCRIPT {script}, and nobody has allowed to run it\nhint: say --allow-exec, or set FATHOM_EXEC_CONSENT=1, if you know what it does"
            );
        }
        let pairs = [
            ("UPDATE_PCT", &work.update_pct),
            ("SCAN_PCT", &work.scan_pct),
            ("RUN_TIME", &work.run_time),
            ("WORK_LOOP", &work.work_loop),
            ("WORK_UNIT", &work.work_unit),
            ("UPDATE_WORK_UNIT", &work.update_work_unit),
            ("REDO_STRESS", &work.redo_stress),
            ("HOTSPOT_MB", &work.hotspot_mb),
            ("HOTSPOT_OFFSET_MB", &work.hotspot_offset_mb),
            ("HOTSPOT_FREQUENCY", &work.hotspot_frequency),
            ("HOT_SCHEMA_FREQUENCY", &work.hot_schema_frequency),
            ("THINK_TM_FREQUENCY", &work.think_frequency),
            ("THINK_TM_MIN", &work.think_min),
            ("THINK_TM_MAX", &work.think_max),
            ("DATABASE_STATISTICS_TYPE", &work.statistics),
            ("EXTERNAL_SCRIPT", &work.external_script),
        ];
        for (name, value) in pairs {
            self.flag(name, value.as_deref())?;
        }
        self.settings.hotspot.on |= work.do_hotspot;
        self.settings.no_os_perf_data |= work.no_os_perf_data || session.environment.no_os_perf_data();
        if work.rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            bail!(wrong(
                "--rate must be more than nothing\nhint: so many operations a second, such as --rate 500"
            ));
        }
        self.settings.check().map_err(wrong)
    }

    /// A number of schemas, from a flag or as the scripts say it.
    pub fn schemas(&mut self, said: Option<&str>) -> Result<()> {
        self.schemas_said |= said.is_some();
        self.flag("NUM_SCHEMAS", said)
    }

    /// Sessions of each.
    pub fn threads(&mut self, said: Option<&str>) -> Result<()> {
        self.flag("NUM_THREADS", said)
    }

    /// `setup IOPS 100` and `setup 100`: answers the tablespace.
    pub fn setup_words(&mut self, words: &[String]) -> Result<Option<String>> {
        let number = |word: &str| word.bytes().all(|c| c.is_ascii_digit());
        match words {
            [] => Ok(None),
            [one] if number(one) => self.schemas(Some(one)).map(|()| None),
            [one] => Ok(Some(one.clone())),
            [tablespace, count] => self.schemas(Some(count)).map(|()| Some(tablespace.clone())),
            _ => bail!(wrong(
                "setup takes a tablespace and a number of schemas\nhint: fathom slob setup IOPS 100"
            )),
        }
    }

    /// Whether SLOB's own files are left here, as its scripts do: when one of its configuration files was read.
    pub fn files_here(&self) -> Option<&Path> {
        self.conf.as_ref().map(|_| Path::new("."))
    }
}
