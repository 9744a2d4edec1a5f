/** Outcome of an install as plain data. Pure. */
import type { PluginInstallation } from "@svc/sdk/plugins";
import type { Change } from "./installer.ts";

export function installationOf({ id, record, changed, report }: Change): PluginInstallation {
  const { name, version, source, spec, generation, integrity, previous } = record;
  return {
    id,
    name,
    version,
    source,
    spec,
    generation,
    integrity,
    changed,
    ...(previous ? { previousVersion: previous.version } : {}),
    ...(report ? { state: report.state } : {}),
    ...(report?.reason === undefined || report.state === "active" ? {} : { reason: report.reason }),
  };
}
