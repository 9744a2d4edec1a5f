/** The SQL of row rules. Pure. */
import type { ExpiringRows, Statement } from "@svc/sdk/storage";

/** Choice: rows that one statement deletes, so that nobody waits long for the database. */
export const BATCH = 500;

/** One statement for each limit of the rule; each deletes at most `BATCH` rows. @param now epoch ms */
export function deletions(rule: ExpiringRows, now: number): Statement[] {
  const { table, key, at, olderThanMs, most } = rule;
  const columns = key.join(", ");
  const rows = `SELECT ${columns} FROM ${table} WHERE ${conditionOf(rule)}`;
  const remove = (which: string, params: readonly number[]) => ({
    sql: `DELETE FROM ${table} WHERE ${key.length === 1 ? columns : `(${columns})`} IN (${which})`,
    params,
  });
  return [
    ...(olderThanMs === undefined
      ? []
      : [remove(`${rows} AND ${at} <= ? ORDER BY ${at} LIMIT ${BATCH}`, [now - olderThanMs])]),
    ...(most === undefined ? [] : [remove(`${rows} ORDER BY ${at} DESC LIMIT ${BATCH} OFFSET ?`, [most])]),
  ];
}

/** One row: `total`, of which `old` are beyond the age. */
export function counting(rule: ExpiringRows, now: number): Statement {
  const { table, at, olderThanMs } = rule;
  return {
    sql: `SELECT count(*) AS total, count(CASE WHEN ${at} <= ? THEN 1 END) AS old FROM ${table} WHERE ${conditionOf(rule)}`,
    params: [olderThanMs === undefined ? -1 : now - olderThanMs],
  };
}

/** Rows that go, of those that `counting` found. */
export function expiredOf({ most = Infinity }: ExpiringRows, { total, old }: { total: number; old: number }): number {
  return old + Math.max(0, total - old - most);
}

function conditionOf({ at, only }: ExpiringRows): string {
  return `${at} IS NOT NULL${only === undefined ? "" : ` AND (${only})`}`;
}
