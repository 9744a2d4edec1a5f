/** The certificate in use: reloaded when its files change; a generated one is renewed. */
import type { Clock, Logger } from "@svc/sdk";
import { StartupRefusal } from "../../auth/settings.ts";
import {
  type Certificate,
  certificateFiles,
  readCertificate,
  type TlsPlaces,
  type TlsSettings,
} from "./certificate.ts";
import { keepGenerated } from "./generated.ts";

/**
 * Milliseconds between two checks of the files. Choice: polling instead of watching, because polling also notices when a
 * symbolic link points to another file.
 */
export const LOOK_MS = 10_000;
/**
 * Choice: the log warns about a certificate this many milliseconds before its expiry. The gateway renews a generated
 * certificate earlier.
 */
const WARN_MS = 14 * 86_400_000;

export interface PortCertificateOptions {
  /** From the current configuration. */
  settings(): TlsSettings;
  readonly places: TlsPlaces;
  /** Addresses the gateway listens on. */
  readonly addresses: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
}

export class PortCertificate {
  readonly #options: PortCertificateOptions;
  #current: Certificate;
  /** The last warning, so that it is not repeated at each check. */
  #warned: string | undefined;

  private constructor(options: PortCertificateOptions, first: Certificate) {
    this.#options = options;
    this.#current = first;
  }

  /** @throws StartupRefusal naming the file and the next step */
  static async open(options: PortCertificateOptions): Promise<PortCertificate> {
    const opened = new PortCertificate(options, await load(options));
    opened.#warnOfExpiry();
    return opened;
  }

  get current(): Certificate {
    return this.#current;
  }

  /**
   * Checks the files periodically. @param changed called with each new certificate. @returns a function that stops the
   * checks
   */
  follow(changed: (certificate: Certificate) => void): () => void {
    return this.#options.clock.setInterval(() => void this.look(changed), LOOK_MS);
  }

  /** Never rejects: a problem with a file is logged as a warning, and the previous certificate stays. */
  async look(changed: (certificate: Certificate) => void): Promise<void> {
    const { log } = this.#options;
    try {
      const next = await load(this.#options);
      if (next.digest === this.#current.digest) return this.#warnOfExpiry();
      this.#current = next;
      this.#warned = undefined;
      changed(next);
      const ends = new Date(next.endsAt).toISOString();
      log.info({ fingerprint: next.fingerprint, ends }, "the TLS certificate was replaced");
      this.#warnOfExpiry();
    } catch (error) {
      if (!(error instanceof StartupRefusal))
        log.error({ err: error }, "the TLS certificate could not be read; the current one stays in use");
      else this.#warn(`the current TLS certificate stays in use, because the new one is unusable: ${error.message}`);
    }
  }

  #warnOfExpiry(): void {
    const { endsAt } = this.#current;
    if (endsAt - this.#options.clock.now() > WARN_MS) return;
    this.#warn(
      `the TLS certificate expires on ${new Date(endsAt).toISOString()}; renew it: the gateway loads the new one without a restart`,
    );
  }

  #warn(text: string): void {
    if (text === this.#warned) return;
    this.#warned = text;
    this.#options.log.warn({}, text);
  }
}

function load({ settings, places, addresses, clock }: PortCertificateOptions): Promise<Certificate> | Certificate {
  const files = certificateFiles(settings(), places);
  return files.isGenerated ? keepGenerated(files, addresses, clock.now()) : readCertificate(files, clock.now());
}
