/** Runs waiting transactions in one commit and isolates their failures from each other. */
import { narrowIntegers, type OwnStatement } from "@svc/kit/sql";
import type { SqlValue, StatementResult } from "@svc/sdk/storage";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { failureOf, Refused } from "./failures.ts";
import type { Failure, Outcome } from "./messages.ts";
import { bindings, type Prepared, type PreparedStatements } from "./prepared.ts";

export type Transaction = readonly OwnStatement[];

export interface GroupCommit {
  /**
   * Runs the first transaction, then further ones while `more()` returns true, then commits.
   * @returns an outcome for each transaction that was run, in order; further transactions are untouched. Never throws.
   */
  run(group: readonly Transaction[], more: () => boolean): readonly Outcome[];
  /** Number of commits so far, for statistics. */
  readonly commits: number;
}

/** First words of statements that change rows. */
const CHANGING = new Set(["insert", "update", "delete", "replace", "with"]);

/** The whole group was rolled back. */
interface Broken {
  readonly failure: Failure;
  /** Number of transactions that were tried. */
  readonly tried: number;
}

export function groupCommit(connection: DatabaseSyncInstance, prepared: PreparedStatements): GroupCommit {
  const begin = connection.prepare("BEGIN IMMEDIATE");
  const commit = connection.prepare("COMMIT");
  const rollback = connection.prepare("ROLLBACK");
  const savepoint = connection.prepare("SAVEPOINT one");
  const release = connection.prepare("RELEASE one");
  const undo = connection.prepare("ROLLBACK TO one");
  const counters = connection.prepare("SELECT changes() AS changes, total_changes() AS total");
  let commits = 0;

  const counted = () => counters.get() as { changes: number; total: number };

  function execute(statement: Prepared, params: readonly SqlValue[] | undefined): StatementResult {
    const values = bindings(statement, params);
    const changing = CHANGING.has(statement.verb); // otherwise SQLite reports the count of an earlier statement
    if (!statement.returnsRows) {
      const { changes } = statement.statement.run(...values);
      return { changes: changing ? changes : 0, rows: [] };
    }
    statement.statement.setReadBigInts(true); // unlike a read, a write cannot be repeated with another setting
    const before = statement.verb === "with" ? counted().total : -1;
    const rows = statement.statement.all(...values).map(narrowIntegers);
    const { changes, total } = counted();
    return { changes: changing && total !== before ? changes : 0, rows }; // WITH may be a SELECT
  }

  function runStatement({ sql, params, expectChanges }: OwnStatement): StatementResult {
    try {
      const result = execute(prepared.get(sql), params);
      if (expectChanges === undefined || result.changes === expectChanges) return result;
    } catch (thrown) {
      throw new Refused(failureOf(thrown, sql));
    }
    throw new Refused({ code: "CONFLICT", message: "the data was changed by another call meanwhile; read it again" });
  }

  /** Runs one transaction inside the open commit; a failure rolls back only this transaction. */
  function attempt(transaction: Transaction): Outcome {
    savepoint.run();
    try {
      const value = transaction.map(runStatement);
      release.run();
      return { value };
    } catch (thrown) {
      if (connection.isTransaction) {
        undo.run();
        release.run();
      }
      return { failure: failureOf(thrown) };
    }
  }

  function abandon(): void {
    try {
      if (connection.isTransaction) rollback.run();
    } catch {
      // the disk still fails: nothing was committed, and the next group tries again
    }
  }

  function runTogether(group: readonly Transaction[], more: () => boolean): readonly Outcome[] | Broken {
    const outcomes: Outcome[] = [];
    try {
      if (connection.isTransaction) rollback.run(); // left over from the last failure
      begin.run();
      for (const transaction of group) {
        if (outcomes.length > 0 && !more()) break;
        const outcome = attempt(transaction);
        outcomes.push(outcome);
        if (!("failure" in outcome)) continue;
        // A full or failing disk, or INSERT OR ROLLBACK, ends the whole transaction, mostly implicitly: nothing overtakes what a disk refused.
        if (connection.isTransaction && outcome.failure.code !== "UNAVAILABLE") continue;
        abandon();
        return { ...outcome, tried: outcomes.length };
      }
      commit.run();
      commits += 1;
      return outcomes;
    } catch (thrown) {
      abandon();
      return { failure: failureOf(thrown), tried: Math.max(outcomes.length, 1) };
    }
  }

  function run(group: readonly Transaction[], more: () => boolean): readonly Outcome[] {
    const result = runTogether(group, more);
    if (!("failure" in result)) return result;
    const { failure, tried } = result;
    // A failed disk is reported to all callers, including those that had failed on their own: their failure may only be
    // due to a change of another transaction, which is now rolled back.
    if (failure.code === "UNAVAILABLE" || tried === 1) return Array.from({ length: tried }, () => ({ failure }));
    // One transaction made the commit fail (a deferred constraint is checked at COMMIT only): each gets its own commit.
    return group.slice(0, tried).flatMap((transaction) => run([transaction], () => false));
  }

  return {
    run,
    get commits() {
      return commits;
    },
  };
}
