//! What only a person can do: by what an item says is to be done, and to what - never by a bag of words.
//!
//! "Provide the API keys" and "Add token validation" have a secret's name in common. What tells them apart is grammar:
//! the verb at the head of the item, and the noun at the head of its object. In "token validation" the token only says
//! which validation; somebody who writes code can do that. So an item is split into its clauses ([`clauses`]), each is
//! read as verb and object ([`object`], [`words`]), and an item with something for the agent in it is the agent's first.

mod clauses;
mod object;
mod who;
mod words;

pub use who::{Split, Who, split, who_acts};
