/** Schema of the index. Its contents can be rebuilt, so there are no migrations: another version recreates the file. */

/** Raised with every change to the tables, the chunking or the tokeniser. */
export const SCHEMA_VERSION = 1;

export const SCHEMA = `
CREATE TABLE agents (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- workspace and chunking: a change empties the index
  basis TEXT NOT NULL,
  -- Endpoint.key the vectors came from
  endpoint TEXT,
  -- epoch ms
  looked_at INTEGER
) STRICT;
CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL REFERENCES agents ON DELETE CASCADE,
  path TEXT NOT NULL,
  -- changes with the file; empty: it may have changed unnoticed
  stamp TEXT NOT NULL,
  -- of the content; NULL: not read
  hash TEXT,
  size INTEGER NOT NULL,
  mtime INTEGER NOT NULL,
  -- why it is not searched
  reason TEXT,
  UNIQUE (agent, path)
) STRICT;
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY,
  agent INTEGER NOT NULL,
  file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  heading TEXT NOT NULL,
  text TEXT NOT NULL,
  words INTEGER NOT NULL,
  -- of the text sent to the endpoint
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_file ON chunks (file);
CREATE INDEX chunks_hash ON chunks (agent, hash);
CREATE TABLE vectors (
  chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
  agent INTEGER NOT NULL,
  -- 32-bit floats, of length 1; NULL: the endpoint refuses this text
  vector BLOB
) STRICT;
CREATE INDEX vectors_agent ON vectors (agent);
CREATE TABLE embeddings (
  endpoint TEXT NOT NULL,
  hash TEXT NOT NULL,
  vector BLOB NOT NULL,
  used_at INTEGER NOT NULL,
  PRIMARY KEY (endpoint, hash)
) STRICT;
CREATE INDEX embeddings_used ON embeddings (used_at)`;

/** One word table per agent: word frequencies must not reveal the notes of other agents. */
export const wordTables = (agent: number): string => `
CREATE VIRTUAL TABLE IF NOT EXISTS words_${agent} USING fts5 (
  text, heading, name,
  content = '', contentless_delete = 1, tokenize = "unicode61 remove_diacritics 2 tokenchars '_'"
);
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary_${agent} USING fts5vocab (words_${agent}, row)`;

export const dropWordTables = (agent: number): string =>
  `DROP TABLE IF EXISTS vocabulary_${agent}; DROP TABLE IF EXISTS words_${agent}`;
