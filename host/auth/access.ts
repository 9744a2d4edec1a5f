/**
 * Everything that decides about access, from the current configuration: credentials, origins, proxies, aliases, limiters.
 * One object for all entry points; a new configuration changes it in place.
 */
import type { Clock } from "@svc/sdk";
import type { PanelPlace } from "@svc/sdk/gateway";
import type { GatewaySection } from "../config/host-schema.ts";
import { addressLiteral, type Peer, type ProxyPolicy, proxyPolicy } from "./client-address.ts";
import { FailureLimiter, limiterKey, type LimiterScope, type Locked, type Reservation } from "./failure-limiter.ts";
import { type EndedFile, nothingEnded } from "./ended.ts";
import { createLocalKey } from "./local-key.ts";
import { isLoopback, type OriginPolicy } from "./locality.ts";
import { originPolicy } from "./origins.ts";
import { Authority } from "./principal.ts";
import type { AuthSettings } from "./settings.ts";
import { weakness } from "./weak-secret.ts";

/** Rules for the control panel. Spec: protocol/frames-and-connect.md §9. */
export interface PanelPolicy {
  /** The panel may connect without a device from this machine over plain HTTP. */
  readonly allowInsecureAuth: boolean;
  /** The panel's device is ignored even when it sends one. */
  readonly ignoresDevices: boolean;
  readonly place: PanelPlace;
}

/** Choice: maximum number of connections per address; more than an office behind one address opens. */
const MAX_CONNECTIONS_PER_ADDRESS = 256;

export class Access {
  readonly authority: Authority;
  /** Admits local clients that can read the state directory. */
  readonly localKey = createLocalKey();
  /** Counts the failed attempts of programs. */
  readonly limiter: FailureLimiter;
  /**
   * Counts the failed attempts of web pages. This machine is not exempt, since any page can run here. Spec:
   * protocol/authorization.md §5.
   */
  readonly pageLimiter: FailureLimiter;
  origins!: OriginPolicy;
  proxies!: ProxyPolicy;
  panel!: PanelPolicy;
  aliases!: readonly string[];
  /** 0: no limit. */
  maxConnectionsPerAddress!: number;
  /** `gateway.compat.chatEventsToAll`. */
  chatEventsToAll!: boolean;
  readonly #endedFile: EndedFile | undefined;

  /** @param endedFile absent: revocations are forgotten when the process ends */
  constructor(settings: AuthSettings, section: GatewaySection, port: number, clock: Clock, endedFile?: EndedFile) {
    this.authority = new Authority(settings, endedFile?.ended ?? nothingEnded(clock.now()));
    this.#endedFile = endedFile;
    this.limiter = new FailureLimiter({}, clock);
    this.pageLimiter = new FailureLimiter({ exemptLoopback: false }, clock);
    this.configure(settings, section, port);
  }

  /** Warnings for the operator about these settings. */
  warnings(): string[] {
    const malformed = this.proxies.trusted.malformed.map(
      (entry) => `gateway.trustedProxies: "${entry}" is neither an address nor a network, and matches nothing`,
    );
    const fallback =
      "gateway.controlUi.dangerouslyAllowHostHeaderOriginFallback admits any page served under the gateway's host name";
    const weak = weakness(this.authority.settings);
    return [
      ...(this.#endedFile?.problem === undefined ? [] : [this.#endedFile.problem]),
      ...malformed,
      ...(this.origins.hostHeaderFallback ? [fallback] : []),
      ...(weak === undefined
        ? []
        : [
            `${weak}: anyone who can reach this machine can guess it; Next: svc config set --string gateway.auth.${this.authority.settings.mode} "$(openssl rand -hex 24)"`,
          ]),
    ];
  }

  /** Resolves when all revocations so far are on disk. @throws Error of the file system */
  async keepEnded(): Promise<void> {
    await this.#endedFile?.keep(this.authority.ended, this.authority.settings);
  }

  /**
   * Counts a guess before it is compared; `undefined` for the shared secret in modes without one.
   * @param fromPage a WebSocket with an `Origin`
   */
  reserveGuess(scope: LimiterScope, peer: Peer, fromPage: boolean): Reservation | Locked | undefined {
    const { mode } = this.authority.settings;
    if (scope === "shared-secret" && mode !== "token" && mode !== "password") return undefined;
    const limiter = fromPage ? this.pageLimiter : this.limiter;
    return limiter.reserve(scope, limiterKey(peer, fromPage));
  }

  /**
   * Maximum of open sockets per address; 0: no limit. Choice: twice the limit of WebSockets, so that a client that opens too many of those
   * still gets an error. This machine and trusted proxies have no limit.
   */
  mostSocketsOf(remoteAddress: string): number {
    const address = addressLiteral(remoteAddress) ?? remoteAddress;
    return isLoopback(address) || this.proxies.trusted.contains(address) ? 0 : 2 * this.maxConnectionsPerAddress;
  }

  /**
   * Applies new settings.
   * @param port the gateway listens on
   * @returns whether credentials changed, so that connections made with the old ones must be closed
   */
  configure(settings: AuthSettings, section: GatewaySection, port: number): boolean {
    const { auth = {}, controlUi = {}, aliases = [] } = section;
    const { rateLimit = {} } = auth;
    this.limiter.configure(rateLimit);
    this.pageLimiter.configure({ ...rateLimit, exemptLoopback: false });
    this.origins = originPolicy(section, port, settings.mode);
    this.proxies = proxyPolicy(section);
    this.panel = {
      allowInsecureAuth: controlUi.allowInsecureAuth ?? false,
      ignoresDevices: controlUi.dangerouslyDisableDeviceAuth ?? false,
      place: {
        isServed: controlUi.enabled ?? true,
        basePath: controlUi.basePath ?? "",
        ...(controlUi.root === undefined ? {} : { root: controlUi.root }),
      },
    };
    this.aliases = aliases;
    this.chatEventsToAll = section.compat?.chatEventsToAll ?? false;
    this.maxConnectionsPerAddress = section.maxConnectionsPerAddress ?? MAX_CONNECTIONS_PER_ADDRESS;
    return this.authority.replace(settings).length > 0;
  }
}
