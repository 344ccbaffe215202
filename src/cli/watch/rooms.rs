//! Who gets how many rows of a screen.

/// A part of the screen that wants rows; its title takes one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    /// With fewer it is not shown at all.
    pub least: usize,
    /// With more it has enough, as long as others want some.
    pub fair: usize,
    /// So many it can fill.
    pub most: usize,
    /// Those with the lowest are left out first where there is no room.
    pub rank: u8,
}

/// The rows of each part, its title among them; 0 for those that are left out. Together at most `rows`.
///
/// First those are left out that matter least until the rest fits; then everyone gets a fair share, the highest rank
/// first; what is left goes to the highest rank that can fill it.
pub(super) fn rooms(rows: usize, wishes: &[Wish]) -> Vec<usize> {
    let mut got: Vec<usize> =
        wishes.iter().map(|wish| if wish.most == 0 { 0 } else { 1 + wish.least.min(wish.most) }).collect();
    let mut by_rank: Vec<usize> = (0..wishes.len()).collect();
    by_rank.sort_by_key(|part| std::cmp::Reverse(wishes[*part].rank));
    for part in by_rank.iter().rev() {
        let others: usize = got.iter().sum::<usize>() - got[*part];
        if others + got[*part] > rows {
            // The last one takes what there is.
            got[*part] = if others == 0 && rows > 1 { rows } else { 0 };
        }
    }
    let mut left = rows.saturating_sub(got.iter().sum());
    for enough in [|wish: &Wish| wish.fair.min(wish.most), |wish: &Wish| wish.most] {
        for part in by_rank.iter().filter(|part| got[**part] > 0).copied().collect::<Vec<_>>() {
            let more = (1 + enough(&wishes[part])).saturating_sub(got[part]).min(left);
            got[part] += more;
            left -= more;
        }
    }
    got
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_most_has_room_first() {
        let wish = |least, fair, most, rank| Wish { least, fair, most, rank };
        // Needs, workers, tasks, timeline, newest.
        let wishes = [wish(1, 2, 5, 3), wish(2, 4, 4, 4), wish(3, 6, 40, 5), wish(2, 4, 4, 1), wish(2, 4, 200, 2)];
        let check = |rows: usize, expected: [usize; 5]| {
            let got = rooms(rows, &wishes);
            assert_eq!(got, expected, "{rows} rows");
            assert!(got.iter().sum::<usize>() <= rows);
        };
        check(100, [6, 5, 41, 5, 43]);
        check(30, [3, 5, 12, 5, 5]);
        check(20, [2, 5, 7, 3, 3]);
        check(15, [2, 3, 4, 3, 3]);
        check(14, [2, 3, 6, 0, 3]);
        check(7, [0, 3, 4, 0, 0]);
        check(4, [0, 0, 4, 0, 0]);
        check(3, [0, 0, 3, 0, 0]);
        check(0, [0, 0, 0, 0, 0]);
        assert_eq!(rooms(9, &[wish(1, 2, 0, 9), wish(1, 1, 3, 1)]), [0, 4]);
    }
}
