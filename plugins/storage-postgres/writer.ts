/**
 * Writes of one gateway: in the order of the calls, over one connection. Transactions that wait are sent together, each a transaction of
 * its own, and the disk is waited for once. Every transaction is serializable, so that gateways on one database have the same guarantees as one
 * gateway on SQLite; a transaction that another gateway was in the way of is repeated.
 */
import type { OwnStatement } from "@svc/kit/sql";
import type { StatementResult } from "@svc/sdk/storage";
import { GatewayError } from "@svc/sdk";
import type { Client, QueryResult } from "pg";
import { errorOf, isLost, isStale, isUnique, isWorthRepeating, Refused, RETRY_AFTER_MS } from "./failures.ts";
import { type Translated, Translator, withExpectation } from "./translate.ts";
import { toParameter } from "./values.ts";

/** Choice: transactions sent together. */
const MAX_GROUP = 128;
/** Choice: calls that wait; limits memory when the server hangs. */
const MAX_WAITING = 10_000;
/** Choice: attempts of a transaction that others are in the way of. */
const MAX_ATTEMPTS = 20;
const MOST_PAUSE_MS = 20;

interface Transaction {
  readonly statements: readonly OwnStatement[];
  readonly resolve: (results: StatementResult[]) => void;
  readonly reject: (reason: Error) => void;
  attempts: number;
}

/** Work between two transactions, e.g. a migration. */
interface Exclusive {
  readonly work: () => Promise<void>;
}

type Job = Transaction | Exclusive;

const BEGIN = "BEGIN";
/** Its commit waits for the disk, as the server is configured; other commits of this connection do not. */
const BEGIN_SYNCED = "BEGIN; SELECT set_config('synchronous_commit', current_setting('svc.synchronous_commit'), true)";
/** A commit that writes something and waits for the disk; earlier commits are written with it. */
const SYNC = `${BEGIN_SYNCED}; SELECT pg_logical_emit_message(true, 'svc', ''); COMMIT`;

export class Writer {
  readonly #connect: () => Promise<Client>;
  readonly #translator = new Translator();
  readonly #jobs: Job[] = [];
  #client: Client | undefined;
  #isWorking = false;
  #working: Promise<void> | undefined;

  /** @param connect `lost` is called when the connection is lost */
  constructor(connect: (lost: () => void) => Promise<Client>) {
    this.#connect = async () => {
      let client: Client | undefined;
      return (client = await connect(() => {
        if (this.#client === client) this.#client = undefined;
      }));
    };
  }

  /** @throws GatewayError `CONFLICT`, `UNAVAILABLE`; Error for invalid SQL */
  transaction(statements: readonly OwnStatement[]): Promise<StatementResult[]> {
    if (statements.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => this.#add({ statements, resolve, reject, attempts: 0 }, reject));
  }

  /** As `transaction`, ahead of what waits, however much that is. */
  urgent(statements: readonly OwnStatement[]): Promise<StatementResult[]> {
    return new Promise((resolve, reject) => {
      this.#jobs.unshift({ statements, resolve, reject, attempts: 0 });
      this.#start();
    });
  }

  /** Runs when the transactions of earlier calls have ended, and before those of later ones. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => this.#add({ work: () => work().then(resolve, reject) }, reject));
  }

  /** Waits for accepted calls, then closes the connection. */
  async close(): Promise<void> {
    await this.#working;
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }

  #add(job: Job, reject: (reason: Error) => void): void {
    if (this.#jobs.length >= MAX_WAITING) {
      const message = "too many calls are waiting for the database; try again";
      return reject(new GatewayError("UNAVAILABLE", message, { retryAfterMs: RETRY_AFTER_MS }));
    }
    this.#jobs.push(job);
    this.#start();
  }

  #start(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#working = this.#work();
  }

  async #work(): Promise<void> {
    await Promise.resolve(); // calls of one tick are sent together
    for (let first = this.#jobs[0]; first; first = this.#jobs[0]) {
      if ("work" in first) {
        this.#jobs.shift();
        await first.work();
        continue;
      }
      try {
        this.#client ??= await this.#connect();
      } catch (error) {
        for (const job of this.#group(Number.POSITIVE_INFINITY)) job.reject(errorOf(error)); // nothing was sent
        continue;
      }
      await this.#send(this.#client, this.#group(MAX_GROUP));
    }
    this.#isWorking = false;
  }

  /** Takes the transactions up to the next exclusive work. */
  #group(most: number): Transaction[] {
    const end = this.#jobs.findIndex((job) => "work" in job);
    return this.#jobs.splice(0, Math.min(most, end === -1 ? this.#jobs.length : end)) as Transaction[];
  }

  async #send(client: Client, group: readonly Transaction[]): Promise<void> {
    const isAlone = group.length === 1;
    const sent = group.map((job) => this.#run(client, job, isAlone));
    let lost: unknown;
    const synced = isAlone ? undefined : client.query(SYNC).catch((error: unknown) => (lost = error));
    const outcomes = await Promise.allSettled(sent);
    await synced;
    const repeated: Transaction[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const job = group[index] as Transaction; // `outcomes` has one entry for each
      if (outcome.status === "fulfilled") {
        if (lost !== undefined) job.reject(errorOf(lost, undefined, true));
        else job.resolve(outcome.value);
        continue;
      }
      const { reason, sql } = outcome.reason as Failed; // the only thing that `#run` rejects with
      if (isLost(reason) || isStale(reason)) this.#drop(client);
      const most = isUnique(reason) ? 2 : MAX_ATTEMPTS;
      job.attempts += 1;
      if (isWorthRepeating(reason) && job.attempts < most) repeated.push(job);
      else job.reject(errorOf(reason, sql, true));
    }
    if (repeated.length === 0) return;
    this.#jobs.unshift(...repeated);
    const attempts = Math.max(...repeated.map((job) => job.attempts));
    if (attempts > 2) await new Promise((resolve) => setTimeout(resolve, Math.random() * MOST_PAUSE_MS));
  }

  /** Sends a whole transaction at once. @throws Failed */
  async #run(client: Client, { statements }: Transaction, isAlone: boolean): Promise<StatementResult[]> {
    const isSingle = statements.length === 1 && !isAlone; // a statement is a transaction of its own
    let translated: Translated[];
    try {
      translated = statements.map(({ sql, params = [] }) => this.#translator.get(sql, params.length));
    } catch (error) {
      throw new Failed(new Refused(error));
    }
    const begun = isSingle ? [] : [client.query(isAlone ? BEGIN_SYNCED : BEGIN)];
    const queries = statements.map((statement, index) => query(client, statement, translated[index] as Translated));
    const ended = isSingle ? [] : [client.query("COMMIT")];
    const outcomes = await Promise.allSettled<unknown>([...begun, ...queries, ...ended]);
    const failed = outcomes.findIndex(({ status }) => status === "rejected");
    if (failed !== -1)
      throw new Failed((outcomes[failed] as PromiseRejectedResult).reason, statements[failed - begun.length]?.sql);
    return Promise.all(
      queries.map(async (result, index) =>
        resultOf(await result, translated[index] as Translated, (statements[index] as OwnStatement).expectChanges),
      ),
    );
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = undefined;
    client.end().catch(() => undefined);
  }
}

class Failed extends Error {
  readonly reason: unknown;
  readonly sql: string | undefined;

  constructor(reason: unknown, sql?: string) {
    super("a transaction failed");
    this.reason = reason;
    this.sql = sql;
  }
}

function query(client: Client, { params = [], expectChanges }: OwnStatement, translated: Translated) {
  const { text, name, returnsRows } = translated;
  const values = params.map(toParameter);
  if (expectChanges === undefined) return client.query({ text, values, ...(name && { name }) });
  const checked = name && { name: `${name}_${expectChanges}` };
  return client.query({ text: withExpectation(text, expectChanges, returnsRows), values, ...checked });
}

const CHANGING = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

function resultOf(
  { command, rowCount, rows }: QueryResult,
  { returnsRows, verb }: Translated,
  expected: number | undefined,
): StatementResult {
  if (expected !== undefined) return { changes: expected, rows: returnsRows ? rows : [] };
  const changes = CHANGING.has(command) ? (rowCount ?? 0) : 0;
  return { changes, rows: returnsRows || verb === "select" || verb === "with" ? rows : [] };
}
