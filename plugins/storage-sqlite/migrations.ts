/** Applies the migration steps of plugins and records them. */
import { createHash } from "node:crypto";
import { constants, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { failureOf, Refused } from "./failures.ts";

const TABLE = `CREATE TABLE IF NOT EXISTS svc_migrations (
  owner TEXT NOT NULL, step INTEGER NOT NULL, hash TEXT NOT NULL, applied_at INTEGER NOT NULL,
  PRIMARY KEY (owner, step)
) STRICT, WITHOUT ROWID`;

/** Actions that would end the transaction around all steps, or access other files. */
const DENIED = new Set([
  constants.SQLITE_TRANSACTION,
  constants.SQLITE_SAVEPOINT,
  constants.SQLITE_ATTACH,
  constants.SQLITE_DETACH,
]);

const hashOf = (step: string) => createHash("sha256").update(step).digest("hex");

/**
 * The steps not applied yet. Fewer steps than were applied is allowed: an older version of the plugin.
 * @param applied hashes of the applied steps, in order
 * @throws Error if the text of an applied step has changed
 */
export function pendingSteps(owner: string, steps: readonly string[], applied: readonly string[]): readonly string[] {
  const changed = steps.findIndex((step, index) => index < applied.length && applied[index] !== hashOf(step));
  if (changed === -1) return steps.slice(applied.length);
  throw new Error(
    `migration step ${changed + 1} of "${owner}" was applied with a different text; restore the old text and append a new step`,
  );
}

/**
 * Applies the new steps and their records in one transaction. A step may have several statements.
 * Foreign keys are enforced meanwhile: dropping a table deletes the rows of other tables that refer to it.
 * @param at epoch ms
 * @throws Refused, after everything was rolled back
 */
export function migrate(connection: DatabaseSyncInstance, owner: string, steps: readonly string[], at: number): void {
  try {
    connection.exec("BEGIN IMMEDIATE");
    connection.exec(TABLE);
    const rows = connection.prepare("SELECT hash FROM svc_migrations WHERE owner = ? ORDER BY step").all(owner);
    const applied = rows.map(({ hash }: { hash: string }) => hash);
    const pending = pendingSteps(owner, steps, applied);
    const record = connection.prepare("INSERT INTO svc_migrations (owner, step, hash, applied_at) VALUES (?, ?, ?, ?)");
    for (const [index, step] of pending.entries()) {
      const number = applied.length + index + 1;
      applyStep(connection, owner, number, step);
      record.run(owner, number, hashOf(step), BigInt(at));
    }
    connection.exec("COMMIT");
  } catch (thrown) {
    if (connection.isTransaction) connection.exec("ROLLBACK");
    if (thrown instanceof Refused) throw thrown;
    const failure = failureOf(thrown);
    // A constraint that is checked at COMMIT only: the plugin's mistake, as in `applyStep`.
    const said = `the migration of "${owner}": ${failure.cause ?? failure.message}`;
    throw new Refused(failure.code === "CONFLICT" ? { code: "FAULT", message: said } : failure);
  }
}

function applyStep(connection: DatabaseSyncInstance, owner: string, number: number, step: string): void {
  connection.setAuthorizer((action) => (DENIED.has(action) ? constants.SQLITE_DENY : constants.SQLITE_OK));
  try {
    connection.exec(step);
  } catch (thrown) {
    const failure = failureOf(thrown, step);
    if (failure.code === "UNAVAILABLE") throw new Refused(failure);
    // A constraint violated by existing rows is the plugin's mistake, not a conflict between two callers.
    const said = `${failure.cause ?? failure.message} in: ${step.slice(0, 200)}`;
    throw new Refused({ code: "FAULT", message: `migration step ${number} of "${owner}": ${said}` });
  } finally {
    connection.setAuthorizer(null);
  }
}
