/** SQL for row rules. Pure. */
import type { Condition, ExpiringRows, SqlValue, Statement } from "@svc/sdk/storage";

/** Choice: rows per delete statement, so that other calls do not wait long. */
export const BATCH = 500;

/** One statement per limit of the rule; each deletes at most `BATCH` rows. @param now epoch ms @param held condition of each */
export function deletions(rule: ExpiringRows, now: number, held: Condition): Statement[] {
  const { table, key, at, olderThanMs, most } = rule;
  const columns = key.join(", ");
  const rows = `SELECT ${columns} FROM ${table} WHERE ${conditionOf(rule)}`;
  const remove = (which: string, params: readonly SqlValue[]) => ({
    sql: `DELETE FROM ${table} WHERE ${key.length === 1 ? columns : `(${columns})`} IN (${which}) AND ${held.sql}`,
    params: [...params, ...held.params],
  });
  return [
    ...(olderThanMs === undefined
      ? []
      : [remove(`${rows} AND ${at} <= ? ORDER BY ${at} LIMIT ${BATCH}`, [now - olderThanMs])]),
    ...(most === undefined ? [] : [remove(`${rows} ORDER BY ${at} DESC LIMIT ${BATCH} OFFSET ?`, [most])]),
  ];
}

/** Returns one row: `total`, and `old`, the number of rows above the age limit. */
export function counting(rule: ExpiringRows, now: number): Statement {
  const { table, at, olderThanMs } = rule;
  return {
    sql: `SELECT count(*) AS total, count(CASE WHEN ${at} <= ? THEN 1 END) AS old FROM ${table} WHERE ${conditionOf(rule)}`,
    params: [olderThanMs === undefined ? -1 : now - olderThanMs],
  };
}

/** Number of rows to delete, from the result of `counting`. */
export function expiredOf({ most = Infinity }: ExpiringRows, { total, old }: { total: number; old: number }): number {
  return old + Math.max(0, total - old - most);
}

function conditionOf({ at, only }: ExpiringRows): string {
  return `${at} IS NOT NULL${only === undefined ? "" : ` AND (${only})`}`;
}
