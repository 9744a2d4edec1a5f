/** What the gateway is and uses, in a file: for commands that cannot ask it, e.g. because it is not running. */
import { writeFileSync } from "node:fs";
import type { Logger } from "@svc/sdk";
import type { PluginInspection, PluginReport } from "@svc/sdk/plugins";
import type { ConfigFile } from "./config/file.ts";
import { redact } from "./config/redact.ts";
import { effectiveConfig, hintsOf, type SectionOwner } from "./config/sections.ts";
import { VERSION } from "./version.ts";

export interface StartupReportOptions {
  readonly path: string;
  /** epoch ms */
  readonly startedAt: number;
  readonly url: string;
  /** Each with what it declares. */
  readonly plugins: readonly (PluginReport & Pick<PluginInspection, "declares">)[];
  readonly warnings: readonly string[];
  /** The configuration in use; its secrets are hidden in the report. */
  readonly file: ConfigFile;
  readonly owners: readonly SectionOwner[];
  readonly log: Logger;
}

/** Never throws: a gateway without its report still works. */
export function writeStartupReport({ path, file, owners, log, ...facts }: StartupReportOptions): void {
  const config = redact(effectiveConfig(file, owners), hintsOf(owners));
  const { startedAt, url, plugins, warnings } = facts;
  const report = { version: VERSION, startedAt, url, plugins, warnings, config };
  try {
    writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
  } catch (error) {
    log.warn({ err: error }, "the startup report could not be written");
  }
}
