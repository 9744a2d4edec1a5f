/** What the gateway is and uses, as of the last change, in a file: for commands that cannot ask it, e.g. because it is not running. */
import { writeFileSync } from "node:fs";
import { redact } from "./config/redact.ts";
import { effectiveConfig, hintsOf } from "./config/sections.ts";
import type { HostContext } from "./context.ts";
import { VERSION } from "./version.ts";

export class StartupReport {
  /** Set once the gateway listens. */
  url = "";
  /** Of the certificate of a port that speaks TLS: what commands of this machine trust. */
  tlsFingerprint: string | undefined;
  /** Things an operator should know about the start. */
  readonly warnings: string[] = [];
  readonly #context: HostContext;

  constructor(context: HostContext) {
    this.#context = context;
  }

  /** As things are now; the secrets of the configuration are hidden. Never throws: a gateway without its report still works. */
  write(): void {
    const { url, tlsFingerprint, warnings } = this;
    const { settings, startedAt, kernel, log } = this.#context;
    const owners = kernel.sections();
    const config = redact(effectiveConfig(settings.file, owners), hintsOf(owners));
    const report = { version: VERSION, startedAt, url, tlsFingerprint, plugins: kernel.inventory(), warnings, config };
    try {
      writeFileSync(settings.paths.startupReport, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
    } catch (error) {
      log.warn({ err: error }, "the startup report could not be written");
    }
  }
}
