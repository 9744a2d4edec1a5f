/** Output of `svc storage`. Pure. */
import type { ResultOf } from "@svc/sdk";
import { table, visible } from "@svc/sdk/cli";
import type { storage } from "@svc/sdk/storage";

type Usage = ResultOf<typeof storage.usage>;

export function usageLines({ location, bytes, freeBytes, givesBack, items }: Usage): string[] {
  const rows = items.map(({ id, bytes: size, rows: count, rule, holds }) =>
    [id, sizeOf(size), String(count), holds, rule].map(visible),
  );
  return [
    ...table([["what", "size", "rows or files", "contents", "retention"], ...rows]),
    "",
    `${visible(location)}: ${sizeOf(bytes)}, ${sizeOf(freeBytes)} free`,
    ...(givesBack || freeBytes === 0 ? [] : ["Free space returns to the disk with: svc storage clean --vacuum"]),
  ];
}

type Cleaned = ResultOf<typeof storage.clean> & { readonly usage?: Usage };

export function cleanedLines({ items, vacuum, usage }: Cleaned, isDryRun: boolean): string[] {
  const gone = items.filter(({ deleted }) => deleted > 0);
  const heading = isDryRun ? "would be deleted" : "deleted";
  return [
    ...(gone.length === 0
      ? ["Nothing has expired."]
      : table([["what", heading], ...gone.map(({ id, deleted }) => [visible(id), String(deleted)])])),
    ...(vacuum
      ? [`The database shrank from ${sizeOf(vacuum.before)} to ${sizeOf(vacuum.after)} in ${vacuum.ms} ms.`]
      : []),
    ...(usage ? [`A vacuum would give back ${sizeOf(usage.freeBytes)} of ${sizeOf(usage.bytes)}.`] : []),
  ];
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Three significant digits, e.g. `1.5 MiB`. */
function sizeOf(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  const value = bytes / 1024 ** step;
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[step] ?? "B"}`;
}
