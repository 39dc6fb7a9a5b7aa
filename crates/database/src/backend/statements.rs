//! The prepared statements of a session, whatever the driver calls one: a select for each schema, and an update and a scan where
//! the session is to be able to do them.

use super::{Ability, Failure, FailureKind, name};

/// Statements of all schemas that a session touches.
pub(super) struct Statements<S> {
    all: Vec<OfSchema<S>>,
}

struct OfSchema<S> {
    schema: u32,
    select: S,
    update: Option<S>,
    scan: Option<S>,
}

impl<S> Statements<S> {
    /// Prepares them. `texts` answers those of a schema by its name: select, update, scan.
    pub(super) fn prepare<E>(
        ability: &Ability,
        texts: impl Fn(&str) -> [String; 3],
        mut prepare: impl FnMut(&str) -> Result<S, E>,
    ) -> Result<Self, E> {
        let mut all = Vec::new();
        for schema in &ability.schemas {
            let [select, update, scan] = texts(&name(schema + 1));
            let mut wanted = |wanted: bool, text: &str| wanted.then(|| prepare(text)).transpose();
            let (update, scan) = (wanted(ability.updates, &update)?, wanted(ability.scans, &scan)?);
            all.push(OfSchema { schema: *schema, select: prepare(&select)?, update, scan });
        }
        Ok(Statements { all })
    }

    fn of(&self, schema: u32) -> &OfSchema<S> {
        self.all.iter().find(|one| one.schema == schema).unwrap_or(&self.all[0])
    }

    pub(super) fn select(&self, schema: u32) -> &S {
        &self.of(schema).select
    }

    pub(super) fn update(&self, schema: u32) -> Result<&S, Failure> {
        self.of(schema).update.as_ref().ok_or_else(none)
    }

    pub(super) fn scan(&self, schema: u32) -> Result<&S, Failure> {
        self.of(schema).scan.as_ref().ok_or_else(none)
    }
}

fn none() -> Failure {
    Failure { kind: FailureKind::Statement, message: "this session has no such statement".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::Redo;

    #[test]
    fn only_statements_that_are_asked_for_are_prepared() {
        let ability = Ability {
            schemas: vec![0, 4],
            redo: Redo::Light,
            filler_bytes: 1,
            updates: false,
            scans: true,
            seed: 1,
        };
        let texts = |name: &str| ["select", "update", "scan"].map(|verb| format!("{verb} {name}"));
        let made = Statements::prepare(&ability, texts, |text| Ok::<_, ()>(text.to_owned())).unwrap();
        assert_eq!((made.select(4).as_str(), made.scan(0).unwrap().as_str()), ("select slob5", "scan slob1"));
        assert_eq!(made.update(0).unwrap_err().kind, FailureKind::Statement);
        assert!(Statements::<String>::prepare(&ability, texts, |_| Err(1)).is_err());
    }
}
