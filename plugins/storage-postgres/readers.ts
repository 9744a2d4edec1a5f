/** Reads, over several connections that cannot write. */
import { type ClientBase, Pool, type PoolConfig, type QueryConfig } from "pg";
import type { Row, SqlValue } from "@svc/sdk/storage";
import type { Address } from "./address.ts";
import { configOf, prepare } from "./connections.ts";
import { errorOf, isLost, isStale, readErrorOf, Refused } from "./failures.ts";
import { type Translated, Translator } from "./translate.ts";
import { toParameter } from "./values.ts";

export class Readers {
  readonly #pool: Pool;
  readonly #translator = new Translator();

  constructor(address: Address, connections: number, lost: (error: Error) => void) {
    this.#pool = new Pool({
      ...configOf(address, "read"),
      max: connections,
      idleTimeoutMillis: 0,
      onConnect: (client: ClientBase) => prepare(client, address, "read"),
    } as PoolConfig);
    this.#pool.on("error", lost);
  }

  /** Opens all connections, so that a server with too few of them is noticed at the start. */
  async open(): Promise<void> {
    const opened = await Promise.allSettled(Array.from({ length: this.#pool.options.max }, () => this.#pool.connect()));
    for (const one of opened) if (one.status === "fulfilled") one.value.release();
    const refused = opened.find(({ status }) => status === "rejected");
    if (refused) throw (refused as PromiseRejectedResult).reason;
  }

  /** @throws GatewayError `UNAVAILABLE`; Error for invalid SQL */
  async read(sql: string, params: readonly SqlValue[]): Promise<Row[]> {
    let translated: Translated;
    try {
      translated = this.#translator.get(sql, params.length);
    } catch (error) {
      throw errorOf(new Refused(error));
    }
    const { text, name } = translated;
    const plain = { text, values: params.map(toParameter) };
    const query = name === undefined ? plain : { ...plain, name };
    try {
      return await this.#query(query).catch((error: unknown) => {
        // An unused connection may have been lost, or have prepared the statement for earlier tables.
        if (isStale(error)) return this.#query(plain);
        if (isLost(error)) return this.#query(query);
        throw error;
      });
    } catch (error) {
      throw readErrorOf(error, sql);
    }
  }

  /** Unlike `pool.query`, keeps the connection when only the statement failed. */
  async #query(query: QueryConfig): Promise<Row[]> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    const breaks = (error: Error) => void (broken = error);
    client.on("error", breaks);
    try {
      return (await client.query<Row>(query)).rows;
    } catch (error) {
      if (isLost(error) || isStale(error)) broken = error as Error;
      throw error;
    } finally {
      client.off("error", breaks);
      client.release(broken);
    }
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}
