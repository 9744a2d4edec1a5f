/**
 * The configuration that several gateways keep in one database. The file of each gateway is a copy of it: it allows a start, and an edited copy is
 * a change like any other. The record `config-copy.json` says what was copied, so that an edited copy can be told from an old one.
 */
import { readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type Logger, matches, Strict, type Static, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";
import type { ConfigKeeper, KeptConfig, SharedConfig } from "@svc/sdk/gateway";
import type { ConfigFile } from "./file.ts";
import { sha256 } from "./parse.ts";

const Copied = Strict({ revision: Type.Integer(), hash: Type.String() });

/** A kept text. */
export interface Kept extends KeptConfig {
  readonly text: string;
  /** As in `ConfigFile`. */
  readonly hash: string;
}

/** `old`: the text has changed since it was copied. `edited`: the copy has changed. `overtaken`: both have. */
export type CopyState = "same" | "old" | "edited" | "overtaken";

export class SharedText implements SharedConfig {
  readonly #stateDir: string;
  readonly #record: string;
  readonly #log: Pick<Logger, "warn">;
  #keeper: ConfigKeeper | undefined;
  /** The last revision that this gateway has used. */
  #seen: number | undefined;

  constructor(stateDir: string, log: Pick<Logger, "warn">) {
    this.#stateDir = stateDir;
    this.#record = recordPath(stateDir);
    this.#log = log;
  }

  join(keeper: ConfigKeeper): () => void {
    this.#keeper = keeper;
    return () => {
      if (this.#keeper === keeper) this.#keeper = undefined;
    };
  }

  get keeper(): ConfigKeeper | undefined {
    return this.#keeper;
  }

  /** `undefined`: the configuration is the file of this gateway. @throws GatewayError `UNAVAILABLE` */
  async kept(): Promise<Kept | undefined> {
    if (!this.#keeper) return undefined;
    const { revision, text } = await this.#keeper.read();
    if (text !== undefined) return { revision, text, hash: sha256(text) };
    this.#seen = revision;
    await this.forget();
    return undefined;
  }

  /** Whether another gateway has changed the text. Never throws: while the database cannot be reached, it is unknown. */
  async isOutdated(): Promise<boolean> {
    const revision = await this.#keeper?.revision().catch(() => undefined);
    return revision !== undefined && revision !== this.#seen;
  }

  async stateOf(file: ConfigFile, kept: Kept): Promise<CopyState> {
    if (file.exists && file.hash === kept.hash) return "same";
    const copied = await readCopied(this.#record);
    if (!copied || !file.exists || file.hash === copied.hash) return "old";
    return copied.revision === kept.revision ? "edited" : "overtaken";
  }

  /** Records that the file is a copy of the text. Never throws: without a record, an edited copy counts as old. */
  async copied({ revision, hash }: Kept): Promise<void> {
    this.saw({ revision });
    const before = await readCopied(this.#record);
    if (before?.revision === revision && before.hash === hash) return;
    const record: Static<typeof Copied> = { revision, hash };
    await replaceFile(this.#record, `${JSON.stringify(record)}\n`).catch((err: unknown) =>
      this.#log.warn({ err }, "the copy of the configuration could not be recorded; do not edit the file by hand"),
    );
  }

  /** This revision is in use. */
  saw({ revision }: Pick<Kept, "revision">): void {
    this.#seen = revision;
  }

  /** Whether the file is a copy of a text that some database keeps. */
  isCopy(): Promise<boolean> {
    return isCopy(this.#stateDir);
  }

  /** Records that the file is not a copy. @returns whether it was */
  forget(): Promise<boolean> {
    return unlink(this.#record).then(
      () => true,
      () => false,
    );
  }
}

function recordPath(stateDir: string): string {
  return join(stateDir, "config-copy.json");
}

/** As `SharedText.isCopy`, for commands. */
export async function isCopy(stateDir: string): Promise<boolean> {
  return (await readCopied(recordPath(stateDir))) !== undefined;
}

async function readCopied(path: string): Promise<Static<typeof Copied> | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(path, "utf8"));
    return matches(Copied, record) ? record : undefined;
  } catch {
    return undefined; // none, or half-written
  }
}
