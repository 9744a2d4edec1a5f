/** Which mappings may accept a request, judged by its signatures on the raw body, before the body is parsed. */
import { isGatewayError } from "@svc/sdk";
import type { SignatureVerdict } from "@svc/sdk/webhooks";
import type { Catalogue } from "./catalogue.ts";
import { BEARER, type CompiledMapping } from "./mapping.ts";
import type { IncomingWebhook } from "./request.ts";

export class Verdicts {
  readonly #byMapping = new Map<string, SignatureVerdict>();
  readonly #trusted: boolean;

  constructor(request: IncomingWebhook, { mappings, verifiers }: Catalogue, now: number) {
    this.#trusted = request.trusted;
    /** Mappings of one sender share their secret: each signature is checked once. */
    const looked = new Map<string, SignatureVerdict>();
    for (const { id, enabled, path = request.path, verify, secrets } of mappings) {
      if (!enabled || verify.type === BEARER || path !== request.path) continue;
      const key = JSON.stringify([verify.type, verify.toleranceSeconds, secrets]);
      const verdict = looked.get(key) ?? verdictOf(request, verifiers.get(verify.type), { verify, secrets }, now);
      looked.set(key, verdict);
      this.#byMapping.set(id, verdict);
    }
  }

  /** Whether any signature is valid. */
  get any(): boolean {
    return [...this.#byMapping.values()].some(({ ok }) => ok);
  }

  /** Why signatures are invalid, by mapping. */
  get refusals(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#byMapping].flatMap(([id, verdict]) => (verdict.ok ? [] : [[id, verdict.reason] as const])),
    );
  }

  /** Whether this mapping may accept the request from this sender. */
  allows({ id, verify }: CompiledMapping): boolean {
    return verify.type === BEARER ? this.#trusted : (this.#byMapping.get(id)?.ok ?? false);
  }

  /** Key that makes the delivery unique; `undefined` with the hook token. */
  replayKey({ id }: CompiledMapping): string | undefined {
    const verdict = this.#byMapping.get(id);
    return verdict?.ok ? verdict.replayKey : undefined;
  }
}

const REFUSED: SignatureVerdict = { ok: false, reason: "no running plugin has this verifier" };

/** A failing verifier admits no sender. */
function verdictOf(
  { headers, rawBody }: IncomingWebhook,
  verifier: ReturnType<Catalogue["verifiers"]["get"]>,
  { verify, secrets }: Pick<CompiledMapping, "verify" | "secrets">,
  now: number,
): SignatureVerdict {
  const usable = secrets.filter((secret) => secret.trim() !== "");
  if (!verifier || usable.length === 0) return REFUSED;
  const { owner, value } = verifier;
  try {
    return owner.run(() => value.verify({ headers, rawBody, now }, usable, verify.toleranceSeconds));
  } catch (error) {
    if (!isGatewayError(error)) owner.charge(error, `webhook.verifier ${verify.type}`, "caller");
    return { ok: false, reason: "the verifier failed" };
  }
}
