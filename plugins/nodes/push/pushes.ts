/** Push messages to registered nodes: the method `push.test`, and what wakes a node. Spec: protocol/methods-system.md §3. */
import { type Clock, invalidRequest, type Logger, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { push } from "@svc/sdk/push";
import type { Storage } from "@svc/sdk/storage";
import { Apns, type PushMessage, type PushOutcome } from "./apns.ts";
import { readCredentials } from "./credentials.ts";
import { forgetRegistration, type PushRegistration, registrationOf } from "./store.ts";

/** Default title. */
const PRODUCT = "svc";
const TEST_BODY = "This is a test message of the gateway.";
/** Choice: maximum characters of a title and of a body; the service refuses messages above 4 KiB. */
const MAX_TITLE = 200;
const MAX_BODY = 1_000;

/** Answers for a device that no longer has the app, or never had this token. */
const GONE = new Set(["Unregistered", "BadDeviceToken", "ExpiredToken"]);

interface PushSources {
  readonly storage: Storage;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Pick<Logger, "info">;
}

export class Pushes {
  readonly #sources: PushSources;
  readonly #apns: Apns;

  constructor(sources: PushSources) {
    this.#sources = sources;
    this.#apns = new Apns(sources.clock);
  }

  /** @throws GatewayError `INVALID_REQUEST`: no registration or no credentials; `UNAVAILABLE`: the service cannot be reached */
  async test(params: ParamsOf<typeof push.test>, signal: AbortSignal): Promise<ResultOf<typeof push.test>> {
    const { nodeId, title = PRODUCT, body = TEST_BODY, environment } = params;
    if (title.length > MAX_TITLE) invalidRequest(`title has more than ${MAX_TITLE} characters`);
    if (body.length > MAX_BODY) invalidRequest(`body has more than ${MAX_BODY} characters`);
    const stored = await registrationOf(this.#sources.storage, nodeId);
    if (!stored) return invalidRequest("this node has no push registration; it registers when its app connects");
    const registration = { ...stored, environment: environment ?? stored.environment };
    const outcome = await this.#send(nodeId, registration, alert(title, body), signal);
    if (!outcome) {
      return invalidRequest(
        "no credentials of the push service are set: SVC_APNS_TEAM_ID, SVC_APNS_KEY_ID, SVC_APNS_PRIVATE_KEY or SVC_APNS_PRIVATE_KEY_PATH",
      );
    }
    const { token, topic } = registration;
    return { ...outcome, tokenSuffix: token.slice(-8), topic, environment: registration.environment };
  }

  /** Whether the node can be reached by push. @throws GatewayError `INVALID_REQUEST`: unusable credentials */
  async reaches(nodeId: string): Promise<boolean> {
    return (
      (await registrationOf(this.#sources.storage, nodeId)) !== undefined && (await readCredentials()) !== undefined
    );
  }

  /** Wakes the app without showing anything. @returns `undefined`: the node cannot be reached by push */
  wake(nodeId: string, signal: AbortSignal): Promise<PushOutcome | undefined> {
    return this.#sendTo(nodeId, { type: "background", payload: { aps: { "content-available": 1 } } }, signal);
  }

  /** Asks the person to open the app. @returns `undefined`: the node cannot be reached by push */
  nudge(nodeId: string, signal: AbortSignal): Promise<PushOutcome | undefined> {
    return this.#sendTo(nodeId, alert(PRODUCT, "The gateway needs this device. Open the app to connect it."), signal);
  }

  async #sendTo(nodeId: string, message: PushMessage, signal: AbortSignal): Promise<PushOutcome | undefined> {
    const registration = await registrationOf(this.#sources.storage, nodeId);
    return registration && this.#send(nodeId, registration, message, signal);
  }

  /** Forgets a registration that the service no longer knows. @returns `undefined`: no credentials are set */
  async #send(
    nodeId: string,
    registration: PushRegistration,
    message: PushMessage,
    signal: AbortSignal,
  ): Promise<PushOutcome | undefined> {
    const { storage, log } = this.#sources;
    const credentials = await readCredentials();
    if (!credentials) return undefined;
    const outcome = await this.#apns.send(credentials, registration, message, signal);
    const { status, reason } = outcome;
    log.info({ nodeId, status, ...(reason !== undefined && { reason }) }, "a push message was sent to a node");
    const { token } = registration;
    // A test may name another environment, in which the service does not know the token.
    const isGone = status === 410 || (reason !== undefined && GONE.has(reason));
    if (isGone && message.type === "background") await forgetRegistration(storage, nodeId, token);
    return outcome;
  }
}

function alert(title: string, body: string): PushMessage {
  return { type: "alert", payload: { aps: { alert: { title, body }, sound: "default" } } };
}
