/** The output of `svc gateways list|doctor`. Pure. */
import type { ResultOf } from "@svc/sdk";
import { type DoctorFinding, table, time, visible } from "@svc/sdk/cli";
import type { gateways } from "@svc/sdk/health";

type Row = ResultOf<typeof gateways.list>["gateways"][number];
type Facts = Pick<ResultOf<typeof gateways.list>, "gateways">;

/** Choice: seconds between two clocks that are worth a warning. The clock of the database decides what is due, but logs and tokens have local times. */
const SKEW_S = 5;
/** Choice: age in milliseconds up to which a lost lease is reported. */
const RECENT_MS = 3_600_000;
const SHOWN_OWNED = 4;

const shortOf = ({ id, name }: Row) => (id === "" ? name : `${name} ${id.slice(0, 8)}`);

export function listLines({ gateways: all }: Facts): string[] {
  const rows = all.map((row) => {
    const { load } = row;
    return [
      `${visible(shortOf(row))}${row.isThis ? " (this one)" : ""}`,
      stateOf(row),
      load?.version ?? "",
      load ? `${load.clients} clients` : "",
      load ? `${load.cpu.toFixed(2)} CPU, ${Math.round(load.rssBytes / 1_048_576)} MB` : "",
      load && load.busy.length > 0 ? `busy: ${load.busy.join(", ")}` : "",
      ownedOf(row),
    ];
  });
  return table(rows);
}

function stateOf({ leaseMs, load }: Row): string {
  if (leaseMs !== undefined && leaseMs <= 0) return `ended without stopping ${Math.round(-leaseMs / 1_000)} s ago`;
  if (!load) return "does not answer";
  return load.isStopping ? "stopping" : "up";
}

function ownedOf({ owned }: Row): string {
  const more = owned.length > SHOWN_OWNED ? ` and ${owned.length - SHOWN_OWNED} more` : "";
  return owned.length === 0 ? "" : `owns ${owned.slice(0, SHOWN_OWNED).map(visible).join(", ")}${more}`;
}

/** @param now epoch ms */
export function gatewayFindings({ gateways: all }: Facts, now: number): DoctorFinding[] {
  const finding = (row: Row, severity: DoctorFinding["severity"], message: string, next: string): DoctorFinding => ({
    severity,
    check: "gateways",
    about: `gateway ${shortOf(row)}`,
    message,
    next,
  });
  const found: DoctorFinding[] = [];
  for (const row of all) {
    const { leaseMs = 1, load } = row;
    if (leaseMs <= 0) found.push(finding(row, "info", stateOf(row), "its log says why; other gateways have its work"));
    else if (!load)
      found.push(
        finding(row, "warning", "it has a lease but does not answer the others", "svc gateway probe on its machine"),
      );
    if (!load) continue;
    const skewS = Math.round(load.aheadMs / 1_000);
    if (Math.abs(skewS) > SKEW_S)
      found.push(
        finding(
          row,
          "warning",
          `its clock is ${Math.abs(skewS)} s ${skewS > 0 ? "behind" : "ahead of"} that of the database`,
          "synchronise the clocks of both machines (NTP)",
        ),
      );
    if (load.lastLoss && load.lastLoss.atMs > now - RECENT_MS)
      found.push(
        finding(
          row,
          "warning",
          `it lost its lease ${load.leaseLosses} times since its start, the last time at ${time(load.lastLoss.atMs)}: ${load.lastLoss.reason}`,
          "check its connection to the database, and the load of both",
        ),
      );
  }
  const answering = all.filter(({ load }) => load !== undefined);
  const [first] = answering;
  const others = (key: "configHash" | "version") => new Set(answering.map(({ load }) => load?.[key])).size > 1;
  if (first && others("configHash"))
    found.push(
      finding(first, "warning", "it and others have different configurations", "svc config move --to database"),
    );
  if (first && others("version"))
    found.push(finding(first, "info", "it and others have different versions", "update the others"));
  return found;
}
