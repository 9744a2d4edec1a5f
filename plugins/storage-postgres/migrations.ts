/** Applies the migration steps of plugins and records them, once for all gateways on the database. */
import { MIGRATIONS, pendingSteps, type Step } from "@svc/kit/sql";
import { isGatewayError, messageOf } from "@svc/sdk";
import type { Client } from "pg";
import { errorOf, Refused } from "./failures.ts";
import { translateStep } from "./translate.ts";

/** Key of the lock, together with the schema. */
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.svc_migrations', 0))";

/** Hashes of the applied steps, by owner. */
export async function appliedSteps(client: Client): Promise<Map<string, string[]>> {
  const found = await client.query<{ there: number }>("SELECT to_regclass('svc_migrations') IS NOT NULL AS there");
  const applied = new Map<string, string[]>();
  if (found.rows[0]?.there !== 1) return applied;
  const { rows } = await client.query<{ owner: string; hash: string }>(
    "SELECT owner, hash FROM svc_migrations ORDER BY owner, step",
  );
  for (const { owner, hash } of rows) applied.set(owner, [...(applied.get(owner) ?? []), hash]);
  return applied;
}

/**
 * Applies the steps that are new, and their records, in one transaction; another gateway waits meanwhile.
 * @param at epoch ms @returns hashes of the applied steps
 * @throws Error naming the step, after everything was rolled back; GatewayError `UNAVAILABLE`
 */
export async function migrate(client: Client, owner: string, steps: readonly Step[], at: number): Promise<string[]> {
  await client.query(
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; SET LOCAL statement_timeout = 0",
  );
  try {
    await client.query(LOCK);
    await client.query(MIGRATIONS.postgres);
    const { rows } = await client.query<{ hash: string }>(
      "SELECT hash FROM svc_migrations WHERE owner = $1 ORDER BY step",
      [owner],
    );
    const applied = rows.map(({ hash }) => hash);
    for (const { text, hash, json, isOwn } of pending(owner, steps, applied)) {
      const number = applied.length + 1;
      await apply(client, owner, number, () => (isOwn ? text : translateStep(text)));
      await client.query(
        "INSERT INTO svc_migrations (owner, step, hash, applied_at, sql) VALUES ($1, $2, $3, $4, $5)",
        [owner, number, hash, at, json],
      );
      applied.push(hash);
    }
    await client.query("COMMIT");
    return applied;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

function pending(owner: string, steps: readonly Step[], applied: readonly string[]): readonly Step[] {
  try {
    return pendingSteps(owner, steps, applied);
  } catch (error) {
    throw new Refused(error);
  }
}

async function apply(client: Client, owner: string, number: number, write: () => string): Promise<void> {
  let text = "";
  try {
    text = write();
    await client.query(text);
  } catch (error) {
    const failure = text === "" ? error : errorOf(error);
    if (isGatewayError(failure) && failure.code !== "CONFLICT") throw error;
    // A constraint violated by existing rows is the plugin's mistake, not a conflict between two callers.
    const said = `${messageOf(error)} in: ${text.slice(0, 200)}`;
    throw new Refused(new Error(`migration step ${number} of "${owner}": ${said}`, { cause: error }));
  }
}
