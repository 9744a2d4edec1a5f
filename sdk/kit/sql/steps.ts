/** Migration steps: which are still to be applied. Pure. */
import { createHash } from "node:crypto";
import type { Dialect, Sql } from "@svc/sdk/storage";
import { checkedSql } from "./values.ts";

/** Record of the applied steps. `sql`: JSON of the step for both engines, so that another engine can create the same tables; NULL: applied by 0.1.0. */
export const MIGRATIONS = {
  sqlite: `CREATE TABLE IF NOT EXISTS svc_migrations (
  owner TEXT NOT NULL, step INTEGER NOT NULL, hash TEXT NOT NULL, applied_at INTEGER NOT NULL, sql TEXT,
  PRIMARY KEY (owner, step)
) STRICT, WITHOUT ROWID`,
  postgres: `CREATE TABLE IF NOT EXISTS svc_migrations (
  owner text COLLATE "C" NOT NULL, step bigint NOT NULL, hash text NOT NULL, applied_at bigint NOT NULL, sql text,
  PRIMARY KEY (owner, step)
)`,
};

/** A migration step for one engine. Plain data. */
export interface Step {
  readonly text: string;
  /** The text was written for this engine alone. */
  readonly isOwn: boolean;
  /** The same for both engines, so that a state copied to the other engine knows its steps. */
  readonly hash: string;
  /** JSON of the step for both engines. */
  readonly json: string;
}

/** @throws TypeError for SQL that is not a string */
export function toStep(sql: Sql, engine: Dialect["name"]): Step {
  const hash = createHash("sha256").update(checkedSql(sql, "sqlite")).digest("hex");
  return { text: checkedSql(sql, engine), isOwn: typeof sql === "object", hash, json: JSON.stringify(sql) };
}

/**
 * The steps not applied yet. Fewer steps than were applied is allowed: an older version of the plugin.
 * @param applied hashes of the applied steps, in order
 * @throws Error if the text of an applied step has changed
 */
export function pendingSteps(owner: string, steps: readonly Step[], applied: readonly string[]): readonly Step[] {
  const changed = steps.findIndex(({ hash }, index) => index < applied.length && applied[index] !== hash);
  if (changed === -1) return steps.slice(applied.length);
  throw new Error(
    `migration step ${changed + 1} of "${owner}" was applied with a different text; restore the old text and append a new step`,
  );
}
