/** The wake words, in `settings/voicewake.json` of the state directory. Spec: protocol/methods-system.md §2. */
import { lstat, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readPrivateJson } from "@svc/kit/files";
import { type Logger, matches, messageOf, Turns, Type } from "@svc/sdk";
import { replaceFile } from "@svc/sdk/files";

const DEFAULT_TRIGGERS: readonly string[] = ["svc", "claude", "computer"];
const MAX_TRIGGERS = 32;
const MAX_CHARS = 64;
/** Choice: larger than any file with the largest accepted list. */
const MAX_BYTES = 64 * 1_024;

const Stored = Type.Object({ triggers: Type.Array(Type.Unknown()) });

/** Trimmed, without blanks and other values; never empty. */
export function wakeWords(given: readonly unknown[]): readonly string[] {
  const words = given.flatMap((word) => {
    const text = typeof word === "string" ? word.trim() : "";
    return text === "" ? [] : [withoutHalf(text.slice(0, MAX_CHARS)).trim()];
  });
  return words.length > 0 ? words.slice(0, MAX_TRIGGERS) : DEFAULT_TRIGGERS;
}

/** Removes half of a character at the end, which the cut may leave. */
function withoutHalf(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/u, "");
}

export class WakeWords {
  readonly #path: string;
  readonly #log: Pick<Logger, "warn">;
  readonly #turns = new Turns();

  constructor(stateDir: string, log: Pick<Logger, "warn">) {
    this.#path = join(stateDir, "settings", "voicewake.json");
    this.#log = log;
  }

  /** Whether there is a file, also one that cannot be used. @throws a file system error */
  async exists(): Promise<boolean> {
    return lstat(this.#path).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return false;
        throw error;
      },
    );
  }

  /** Choice: a file that cannot be used counts as absent, and the log names it; the next `set` replaces it. */
  async get(): Promise<readonly string[]> {
    try {
      const stored = await readPrivateJson(this.#path, { maxBytes: MAX_BYTES, denied: 0o022 });
      if (stored === undefined) return DEFAULT_TRIGGERS;
      if (matches(Stored, stored)) return wakeWords(stored.triggers);
      throw new Error("it has no list of words");
    } catch (error) {
      const why = { file: this.#path, reason: messageOf(error) };
      this.#log.warn(why, "the file with the wake words cannot be used; the default words are");
      return DEFAULT_TRIGGERS;
    }
  }

  /**
   * Durable when it resolves. @param now epoch ms. @returns the stored words
   * @throws a file system error
   */
  set(given: readonly unknown[], now: number): Promise<readonly string[]> {
    const triggers = wakeWords(given);
    return this.#turns.take("file", async () => {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      await replaceFile(this.#path, `${JSON.stringify({ triggers, updatedAtMs: now }, null, 2)}\n`);
      return triggers;
    });
  }
}
