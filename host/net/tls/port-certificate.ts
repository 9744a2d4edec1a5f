/** The certificate that is in use: it follows its files, and one of the gateway's own is renewed. */
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
 * Milliseconds between two looks at the files. Choice: they are read again instead of watched, which also sees a file behind
 * a link that is switched over.
 */
export const LOOK_MS = 10_000;
/** Choice: milliseconds before its end a certificate that is not the gateway's own is warned of. */
const WARN_MS = 14 * 86_400_000;

export interface PortCertificateOptions {
  /** As the configuration is now. */
  settings(): TlsSettings;
  readonly places: TlsPlaces;
  /** That are listened on. */
  readonly addresses: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
}

export class PortCertificate {
  readonly #options: PortCertificateOptions;
  #current: Certificate;
  /** Said already, so that it is not repeated at each look. */
  #warned: string | undefined;

  private constructor(options: PortCertificateOptions, first: Certificate) {
    this.#options = options;
    this.#current = first;
  }

  /** @throws StartupRefusal naming the file and the next step */
  static async open(options: PortCertificateOptions): Promise<PortCertificate> {
    const opened = new PortCertificate(options, await load(options));
    opened.#warnOfItsEnd();
    return opened;
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Looks at the files now and then. @param changed told of each certificate that takes the place of another. @returns stops it */
  follow(changed: (certificate: Certificate) => void): () => void {
    return this.#options.clock.setInterval(() => void this.look(changed), LOOK_MS);
  }

  /** Never rejects: what is wrong with a file is a warning, and the certificate before it stays. */
  async look(changed: (certificate: Certificate) => void): Promise<void> {
    const { log } = this.#options;
    try {
      const next = await load(this.#options);
      if (next.digest === this.#current.digest) return this.#warnOfItsEnd();
      this.#current = next;
      this.#warned = undefined;
      changed(next);
      const ends = new Date(next.endsAt).toISOString();
      log.info({ fingerprint: next.fingerprint, ends }, "the TLS certificate was replaced");
      this.#warnOfItsEnd();
    } catch (error) {
      if (!(error instanceof StartupRefusal)) log.error({ err: error }, "the TLS certificate could not be read");
      else this.#warn(`the TLS certificate in use stays: ${error.message}`);
    }
  }

  #warnOfItsEnd(): void {
    const { endsAt } = this.#current;
    if (endsAt - this.#options.clock.now() > WARN_MS) return;
    this.#warn(`the TLS certificate ends on ${new Date(endsAt).toISOString()}; renew it, it is read again by itself`);
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
