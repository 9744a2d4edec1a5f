/** Storage with the tables created on first use, so that a gateway without channels creates none. */
import type { Storage } from "@svc/sdk/storage";
import { STEPS } from "./schema.ts";

export class OpenStorage {
  readonly #storage: Storage;
  #opened: Promise<Storage> | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Whether storage was used yet. */
  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** @throws GatewayError `UNAVAILABLE`; the next call tries again */
  get(): Promise<Storage> {
    this.#opened ??= this.#storage.migrate("channels", STEPS).then(() => this.#storage);
    const opened = this.#opened;
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined;
    });
    return opened;
  }
}
