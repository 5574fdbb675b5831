mod chosen;
mod groups;
mod names;
