/** The tests of each table row, and the rows that wait for a missing capability. */
import { credentialRows } from "./rows/credentials.ts";
import { frameRows } from "./rows/frames.ts";
import { handshakeRows } from "./rows/handshake.ts";
import { httpRows } from "./rows/http.ts";
import type { Row } from "./rows/row.ts";

/** By page; a row is named by its section and a few words of it. */
export const pages: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  "protocol/frames-and-connect.md §1-§3, §11-§14": frameRows,
  "protocol/frames-and-connect.md §4-§6, §8-§10": handshakeRows,
  "protocol/frames-and-connect.md §7": credentialRows,
  "http/auth.md": httpRows,
};
