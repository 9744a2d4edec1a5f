/** Writes the gateway's address, plugins and configuration to a file after each change, for commands that cannot reach the gateway. */
import { writeFileSync } from "node:fs";
import { redact } from "./config/redact.ts";
import { effectiveConfig, secretHintsOf } from "./config/sections.ts";
import type { HostContext } from "./context.ts";
import { VERSION } from "./version.ts";

export class StartupReport {
  /** Set once the gateway listens. */
  url = "";
  /** Fingerprint of the certificate, if the port uses TLS; commands of this machine trust it. */
  tlsFingerprint: string | undefined;
  /** Warnings about the start for the operator. */
  readonly warnings: string[] = [];
  readonly #context: HostContext;

  constructor(context: HostContext) {
    this.#context = context;
  }

  /** Writes the current state, secrets of the configuration hidden. Never throws: a gateway also works without its report. */
  write(): void {
    const { url, tlsFingerprint, warnings } = this;
    const { settings, startedAt, kernel, log } = this.#context;
    const owners = kernel.sections();
    const config = redact(effectiveConfig(settings.file, owners), secretHintsOf(owners));
    const report = { version: VERSION, startedAt, url, tlsFingerprint, plugins: kernel.inventory(), warnings, config };
    try {
      writeFileSync(settings.paths.startupReport, `${JSON.stringify(report, null, 2)}\n`, { mode: 0o600 });
    } catch (error) {
      log.warn({ err: error }, "the startup report could not be written");
    }
  }
}
