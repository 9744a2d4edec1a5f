/** Location of an agent's files, and the hook before they are written. */
import type { PlaceSources } from "@svc/kit/files";

export { nameWithin, type Place, placeOf, type PlaceSources } from "@svc/kit/files";

/** Called before the file at `name` below `root` is written or removed. */
export type BeforeWrite = (root: string, name: string) => Promise<void>;

/** Sources of tools that write. */
export interface WriteSources extends PlaceSources {
  readonly beforeWrite: BeforeWrite;
}
