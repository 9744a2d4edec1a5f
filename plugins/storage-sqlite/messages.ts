/** What the main thread and the database thread say to each other. Plain data only: it crosses by structured clone. */
import type { Row, SqlValue, Statement, StatementResult } from "@svc/sdk/storage";

/** What the database thread is started with. */
export interface DatabaseOptions {
  /** Absolute path of the database file. */
  readonly file: string;
  /** Milliseconds a statement waits for another process that holds the file; 0 fails at once. */
  readonly busyTimeoutMs: number;
}

export interface ReadWork {
  readonly kind: "all" | "get";
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

export interface TransactionWork {
  readonly kind: "transaction";
  readonly statements: readonly Statement[];
}

export interface MigrateWork {
  readonly kind: "migrate";
  readonly owner: string;
  readonly steps: readonly string[];
  /** epoch ms, kept beside each applied step */
  readonly at: number;
}

/** The room the file takes. `shrink` gives some free pages back to the disk, `vacuum` rewrites the file without any. */
export interface SpaceWork {
  readonly kind: "space";
  readonly action: "read" | "shrink" | "vacuum";
}

/** The room the file takes, after the work. */
export interface Space {
  readonly bytes: number;
  /** Bytes in the file that hold nothing. */
  readonly freeBytes: number;
  /** Whether `shrink` works; false for a file that was made without it and not vacuumed since. */
  readonly givesBack: boolean;
}

export type Work = ReadWork | TransactionWork | MigrateWork | SpaceWork;

/** Work with the number its answer carries. */
export type Request = Work & { readonly id: number };

/** Main to database thread: calls of one tick travel together. */
export type Instruction = { readonly kind: "work"; readonly requests: readonly Request[] } | { readonly kind: "close" };

/** Why something was not done. `FAULT` is a mistake of the caller (bad SQL) and becomes a plain `Error`. */
export interface Failure {
  readonly code: "CONFLICT" | "UNAVAILABLE" | "FAULT";
  /** For `CONFLICT` and `UNAVAILABLE`: safe to show to a client. */
  readonly message: string;
  /** Milliseconds until a retry can succeed. */
  readonly retryAfterMs?: number;
  /** What SQLite said; for logs. */
  readonly cause?: string;
}

export type Value = readonly Row[] | Row | readonly StatementResult[] | Space | undefined;
export type Outcome = { readonly value: Value } | { readonly failure: Failure };
export type Answer = Outcome & { readonly id: number };

/** Database thread to main. */
export type Report =
  | { readonly kind: "ready" }
  /** The file could not be opened; the thread ends. `message` names the file and what to do. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "answers"; readonly answers: readonly Answer[]; readonly commits: number }
  | { readonly kind: "closed" };
