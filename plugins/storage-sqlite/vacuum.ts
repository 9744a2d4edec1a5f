/** Rewrites the database without its free pages; afterwards `shrink` works on the file. */
import { type Clock, unavailable } from "@svc/sdk";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { StorageOwner } from "./storage.ts";

/** @throws GatewayError `UNAVAILABLE` if the disk has no room for the copy and the log of the change */
export async function rewrite({ storage, space, clock }: Pick<StorageOwner, "storage" | "space"> & { clock: Clock }) {
  const { bytes: before, freeBytes } = await space("read");
  const needed = (before - freeBytes) * 2;
  const { bavail, bsize } = await statfs(dirname(storage.location));
  if (bavail * bsize < needed)
    unavailable(
      `a vacuum needs ${needed} bytes in addition to the database, and the disk has ${bavail * bsize}; free space first`,
    );
  const began = clock.elapsed();
  const { bytes: after } = await space("vacuum");
  return { before, after, ms: Math.round(clock.elapsed() - began) };
}
