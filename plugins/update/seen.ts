/** Stores the newest known version and when it was first seen, so that a delay continues across restarts. */
import { readWithin, writeWithin } from "@svc/kit/files";
import { matches, type Static, Strict, Type } from "@svc/sdk";

/** `since`: epoch ms. */
const Seen = Strict({ version: Type.String(), since: Type.Integer() });
export type Seen = Static<typeof Seen>;

export interface SeenFile {
  /** `undefined`: nothing is stored, or the file is invalid. */
  read(): Promise<Seen | undefined>;
  write(seen: Seen): Promise<void>;
}

const NAME = "seen.json";

/** @param directory called on first use */
export function createSeenFile(directory: () => string): SeenFile {
  return {
    async read() {
      const file = await readWithin(directory(), NAME);
      try {
        const seen: unknown = JSON.parse(file?.bytes.toString("utf8") ?? "null");
        return matches(Seen, seen) ? seen : undefined;
      } catch {
        return undefined;
      }
    },
    async write(seen) {
      await writeWithin(directory(), NAME, JSON.stringify(seen));
    },
  };
}
