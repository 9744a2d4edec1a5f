/** Applies the migration steps of plugins and records them. */
import { constants, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { MIGRATIONS, pendingSteps, type Step } from "@svc/kit/sql";
import { failureOf, Refused } from "./failures.ts";

/** Actions that would end the transaction around all steps, or access other files. */
const DENIED = new Set([
  constants.SQLITE_TRANSACTION,
  constants.SQLITE_SAVEPOINT,
  constants.SQLITE_ATTACH,
  constants.SQLITE_DETACH,
]);

/**
 * Applies the new steps and their records in one transaction. A step may have several statements.
 * Foreign keys are enforced meanwhile: dropping a table deletes the rows of other tables that refer to it.
 * @param at epoch ms
 * @throws Refused, after everything was rolled back
 */
export function migrate(connection: DatabaseSyncInstance, owner: string, steps: readonly Step[], at: number): void {
  try {
    connection.exec("BEGIN IMMEDIATE");
    prepareTable(connection);
    const select = "SELECT hash, sql IS NULL AS bare FROM svc_migrations WHERE owner = ? ORDER BY step";
    const applied = connection.prepare(select).all(owner) as { hash: string; bare: number }[];
    const hashes = applied.map(({ hash }) => hash);
    const pending = pendingSteps(owner, steps, hashes);
    const complete = connection.prepare("UPDATE svc_migrations SET sql = ? WHERE owner = ? AND step = ?");
    for (const [index, { json }] of steps.entries())
      if (applied[index]?.bare === 1) complete.run(json, owner, index + 1);
    const record = connection.prepare(
      "INSERT INTO svc_migrations (owner, step, hash, applied_at, sql) VALUES (?, ?, ?, ?, ?)",
    );
    for (const [index, { text, hash, json }] of pending.entries()) {
      const number = applied.length + index + 1;
      applyStep(connection, owner, number, text);
      record.run(owner, number, hash, BigInt(at), json);
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

function prepareTable(connection: DatabaseSyncInstance): void {
  connection.exec(MIGRATIONS.sqlite);
  const columns = connection.prepare("SELECT name FROM pragma_table_info('svc_migrations')").all() as {
    name: string;
  }[];
  if (!columns.some(({ name }) => name === "sql")) connection.exec("ALTER TABLE svc_migrations ADD COLUMN sql TEXT");
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
