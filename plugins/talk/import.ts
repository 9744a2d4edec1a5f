/** Takes the wake words of another gateway, and gives those of this one. */
import { isDeepStrictEqual } from "node:util";
import { type Clock, Turns } from "@svc/sdk";
import { type Importer, importerOf, type ImportOutcome, WakeWordsRecord } from "@svc/sdk/import";
import type { WakeWords } from "./wake-words.ts";

/** Choice: id of the one record that is given. */
const ID = "voicewake";

export interface WakeWordsSources {
  words(): WakeWords;
  readonly clock: Pick<Clock, "now">;
  /** Called with the words that were taken. */
  changed(triggers: readonly string[]): void;
}

/** Unit of the count: lists, 0 or 1. */
export function wakeWordsImporter({ words, clock, changed }: WakeWordsSources): Importer {
  const turns = new Turns();

  async function takeOne({ triggers }: WakeWordsRecord): Promise<Omit<ImportOutcome, "id">> {
    if (await words().exists()) return { action: "skip", reason: "this gateway has wake words already" };
    const taken = await words().set(triggers, clock.now());
    changed(taken);
    if (isDeepStrictEqual(taken, triggers)) return { action: "take" };
    const reason = "trimmed, without blanks, at most 32 words of 64 characters; without any, the default words";
    return { action: "convert", reason };
  }

  return importerOf(
    { title: "lists of wake words", record: WakeWordsRecord },
    {
      takeOne: (record) => turns.take("file", () => takeOne(record)),
      count: async () => ((await words().exists()) ? 1 : 0),
      give: async () => ({
        records: (await words().exists()) ? [{ id: ID, triggers: [...(await words().get())] }] : [],
      }),
    },
  );
}
