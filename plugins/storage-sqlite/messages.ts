/** Messages between the main thread and the database thread. Plain data only: it is sent by structured clone. */
import type { OwnStatement, Step } from "@svc/kit/sql";
import type { Row, SqlValue, StatementResult } from "@svc/sdk/storage";

/** Start options of the database thread. */
export interface DatabaseOptions {
  /** Absolute path of the database file. */
  readonly file: string;
  /** Milliseconds a statement waits while another process locks the file; 0 fails at once. */
  readonly busyTimeoutMs: number;
  /** Number of the file that the main thread appends to; undefined: none yet. */
  readonly appending?: number | undefined;
  /** An earlier thread of this process was the one that may append. */
  readonly isOwner?: boolean;
}

export interface ReadWork {
  readonly kind: "all" | "get";
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

export interface TransactionWork {
  readonly kind: "transaction";
  readonly statements: readonly OwnStatement[];
}

export interface MigrateWork {
  readonly kind: "migrate";
  readonly owner: string;
  readonly steps: readonly Step[];
  /** epoch ms, stored with each applied step */
  readonly at: number;
}

/** How far appended transactions are to run: complete lines of the files. */
export interface Position {
  readonly file: number;
  readonly bytes: number;
}

/** Runs what was appended so far. */
export interface ReplayWork {
  readonly kind: "replay";
  readonly until: Position;
}

/** Makes this process the one that appends; the value is the number of its next file, or undefined if another process appends. */
export interface OwnWork {
  readonly kind: "own";
}

/** Whether no other process appends; the value is a boolean. */
export interface AloneWork {
  readonly kind: "alone";
}

/** Work on the size of the file. `shrink` returns some free pages to the disk, `vacuum` rewrites the file without free pages. */
export interface SpaceWork {
  readonly kind: "space";
  readonly action: "read" | "shrink" | "vacuum";
}

/** Size of the file after the work. */
export interface Space {
  readonly bytes: number;
  /** Bytes of free pages. */
  readonly freeBytes: number;
  /** Whether `shrink` works; false for a file that was created without it and not vacuumed since. */
  readonly givesBack: boolean;
}

export type Work = ReadWork | TransactionWork | MigrateWork | SpaceWork | ReplayWork | OwnWork | AloneWork;

/** Work with the id of its answer. */
export type Request = Work & { readonly id: number };

/** Main to database thread: calls of one tick are sent together. */
export type Instruction = { readonly kind: "work"; readonly requests: readonly Request[] } | { readonly kind: "close" };

/** Why a call failed. `FAULT` is a mistake of the caller (invalid SQL) and becomes a plain `Error`. */
export interface Failure {
  readonly code: "CONFLICT" | "UNAVAILABLE" | "FAULT";
  /** For `CONFLICT` and `UNAVAILABLE`: safe to show to a client. */
  readonly message: string;
  /** Milliseconds until a retry may succeed. */
  readonly retryAfterMs?: number;
  /** Error text of SQLite, for logs. */
  readonly cause?: string;
}

export type Value = readonly Row[] | Row | readonly StatementResult[] | Space | number | boolean | undefined;
export type Outcome = { readonly value: Value } | { readonly failure: Failure };
export type Answer = Outcome & { readonly id: number };

/** Database thread to main. */
export type Report =
  /** `isBehind`: some appended transactions could not run now. */
  | { readonly kind: "ready"; readonly isBehind: boolean }
  /** The file could not be opened; the thread ends. `message` names the file and the next step. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "answers"; readonly answers: readonly Answer[]; readonly commits: number }
  /** An appended transaction can never run, and was skipped. */
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "closed" };
