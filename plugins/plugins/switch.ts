/** Enables or disables a plugin through the configuration key `plugins.entries.<id>.enabled`. */
import { notFound } from "@svc/sdk";
import type { ConfigStore } from "@svc/sdk/config";
import type { PluginControl, PluginReport } from "@svc/sdk/plugins";

export interface SwitchParts {
  readonly control: PluginControl;
  readonly config: ConfigStore;
}

/** @throws GatewayError `NOT_FOUND`, and errors of the configuration */
export async function switchPlugin(id: string, enabled: boolean, actor: string, { control, config }: SwitchParts) {
  const before = reportOf(id, control);
  let changed = false;
  await config.edit({ actor, action: enabled ? "plugins.enable" : "plugins.disable" }, (parsed) => {
    changed = isEnabled(parsed, id) !== enabled;
    return changed ? [{ path: ["plugins", "entries", id, "enabled"], value: enabled }] : [];
  });
  const { state, reason } = control.reports().find((report) => report.id === id) ?? before;
  return { id, enabled, changed, state, ...(reason === undefined ? {} : { reason }) };
}

function reportOf(id: string, control: PluginControl): PluginReport {
  const reports = control.reports();
  const found = reports.find((report) => report.id === id);
  return found ?? notFound(`no plugin "${id}" in this gateway; available: ${reports.map((one) => one.id).join(", ")}`);
}

function isEnabled(parsed: Readonly<Record<string, unknown>>, id: string): boolean {
  const at = ["plugins", "entries", id, "enabled"].reduce<unknown>(
    (node, key) =>
      typeof node === "object" && node !== null && Object.hasOwn(node, key)
        ? (node as Record<string, unknown>)[key]
        : undefined,
    parsed,
  );
  return at !== false;
}
