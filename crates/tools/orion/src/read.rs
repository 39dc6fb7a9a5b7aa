//! Reads ORION's tables again: `mbps.csv`, `iops.csv`, `lat.csv` of either layout.

/// One table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Small loads, the header.
    pub columns: Vec<u32>,
    /// Large load, and a value for each column; `None` where nothing was measured.
    pub rows: Vec<(u32, Vec<Option<f64>>)>,
}

impl Grid {
    /// The value of one data point.
    pub fn at(&self, small: u32, large: u32) -> Option<f64> {
        let column = self.columns.iter().position(|c| *c == small)?;
        self.rows.iter().find(|(row, _)| *row == large)?.1[column]
    }
}

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// No line begins with `Large/Small`.
    #[error(
        "there is no table: no line begins with Large/Small\nhint: a run that failed before its first point leaves an empty file"
    )]
    NoTable,
    /// A cell is no number.
    #[error("line {line}: {found:?} is not a number\nhint: a cell is a number or blank")]
    Cell {
        /// Which line, from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// A row has more cells than the header.
    #[error("line {line} has more cells than the header\nhint: see whether the file is whole")]
    Long {
        /// Which line, from 1.
        line: usize,
    },
}

/// Reads a table; what stands before it is passed over.
pub fn read_grid(text: &str) -> Result<Grid, GridError> {
    let mut lines =
        text.lines().enumerate().skip_while(|(_, line)| !line.trim_start().starts_with("Large/Small"));
    let (at, header) = lines.next().ok_or(GridError::NoTable)?;
    let mut grid = Grid { columns: header_cells(header, at)?, rows: Vec::new() };
    for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let mut cells = line.split(',').map(str::trim);
        let row = number(cells.next().unwrap_or_default(), at)?;
        let mut values = Vec::with_capacity(grid.columns.len());
        for cell in cells {
            values.push(if cell.is_empty() { None } else { Some(number(cell, at)?) });
        }
        if values.len() > grid.columns.len() {
            return Err(GridError::Long { line: at + 1 });
        }
        values.resize(grid.columns.len(), None);
        grid.rows.push((row, values));
    }
    Ok(grid)
}

fn header_cells(header: &str, at: usize) -> Result<Vec<u32>, GridError> {
    header.split(',').skip(1).map(|cell| number(cell.trim(), at)).collect()
}

fn number<T: std::str::FromStr>(cell: &str, at: usize) -> Result<T, GridError> {
    cell.parse().map_err(|_| GridError::Cell { line: at + 1, found: cell.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_either_layout_is_read() {
        let bare = "Large/Small,      1,      2,      3,      4,      5\n          0,   2302,   4398,   5450,   6006,   6210\n          1\n          2\n";
        let grid = read_grid(bare).unwrap();
        assert_eq!(grid.columns, [1, 2, 3, 4, 5]);
        assert_eq!((grid.at(5, 0), grid.at(1, 1), grid.at(9, 0)), (Some(6210.0), None, None));
        let spoken = format!("\nThis comma-separated-value file contains.  And so on.\n\n{bare}\n");
        assert_eq!(read_grid(&spoken).unwrap(), grid);
        let text = "Large/Small,      0,      1\n          1, 271.58,       \n          2,       , 374.26\n";
        let grid = read_grid(text).unwrap();
        assert_eq!(
            (grid.at(0, 1), grid.at(1, 1), grid.at(0, 2), grid.at(1, 2)),
            (Some(271.58), None, None, Some(374.26))
        );
    }

    #[test]
    fn what_is_no_table_says_so() {
        assert_eq!(read_grid(""), Err(GridError::NoTable));
        assert_eq!(read_grid("Large/Small,x"), Err(GridError::Cell { line: 1, found: "x".into() }));
        assert_eq!(read_grid("\nLarge/Small,1\n0,1,2"), Err(GridError::Long { line: 3 }));
        assert!(read_grid("Large/Small,1\nrow,2").is_err());
    }
}
