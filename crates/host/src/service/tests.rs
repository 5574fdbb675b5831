mod find;
mod groups;
mod names;
