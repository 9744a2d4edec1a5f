/** Runs the files that the mappings ask for, and adds to the host's mappings what is known of their files. */
import { type Clock, messageOf, pause } from "@svc/sdk";
import type {
  TransformCall,
  TransformOutcome,
  TransformPlan,
  WebhookMappingInfo,
  WebhookProblem,
  Webhooks,
  WebhookTransformRef,
} from "@svc/sdk/webhooks";
import type { Transforms } from "./transforms/contract.ts";

/** Milliseconds between the end of the transforms and that of their plugin, at most. */
const END_MS = 5_000;

export interface TransformFilesOptions {
  readonly engine: Pick<Webhooks, "transforms" | "list">;
  readonly transforms: Transforms;
  readonly clock: Clock;
  /** Aborts when this generation of the plugin has stopped. */
  readonly signal: AbortSignal;
}

export class TransformFiles {
  readonly #options: TransformFilesOptions;
  readonly #inFlight = new Set<Promise<unknown>>();
  /** What the transforms were configured with last. */
  #plan: TransformPlan | undefined;
  #ready: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(options: TransformFilesOptions) {
    this.#options = options;
  }

  /** Configures the transforms anew when the mappings ask for other ones. Resolves when those have been checked; never rejects. */
  follow(): Promise<void> {
    const { transforms: plan } = this.#options.engine;
    const former = this.#plan;
    this.#plan = plan;
    if (plan !== former && JSON.stringify(plan) !== JSON.stringify(former))
      this.#ready = this.#options.transforms.configure(plan);
    return this.#ready;
  }

  /** @returns `undefined`: this plugin has stopped meanwhile */
  async run(ref: WebhookTransformRef, call: TransformCall): Promise<TransformOutcome | undefined> {
    const running = this.#run(ref, call);
    this.#inFlight.add(running);
    const outcome = await running;
    this.#inFlight.delete(running);
    if (outcome.kind !== "failed" || !this.#isStopping) return outcome;
    await pause(END_MS, this.#options.clock, this.#options.signal); // a later emission reaches the next generation
    return undefined;
  }

  /** Never rejects. */
  async #run(ref: WebhookTransformRef, call: TransformCall): Promise<TransformOutcome> {
    try {
      await this.follow();
      return await this.#options.transforms.run(ref, call);
    } catch (error) {
      return { kind: "failed", message: messageOf(error) };
    }
  }

  list(): readonly WebhookMappingInfo[] {
    const { engine, transforms } = this.#options;
    return engine
      .list()
      .map(({ transform, ...row }) => (transform ? { ...row, transform: transforms.info(transform) } : row));
  }

  /** Reads the directory anew. @returns what is wrong with it and its files */
  async check(): Promise<readonly WebhookProblem[]> {
    const { transforms } = this.#options;
    await this.follow();
    await transforms.refresh();
    const ofDirectory = transforms.problems().map((problem) => ({ ...problem, severity: "error" as const }));
    return [...ofDirectory, ...this.list().flatMap(problemOf)];
  }

  /** Resolves when the calls in flight now are over. */
  async settled(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  /** Ends the transforms and whatever they are doing. */
  stop(): Promise<void> {
    this.#isStopping = true;
    return this.#options.transforms.stop();
  }
}

function problemOf({ transform }: WebhookMappingInfo): WebhookProblem[] {
  if (!transform) return [];
  const { module: path, problem: told } = transform;
  if (transform.state === "live") return told === undefined ? [] : [{ path, message: told, severity: "warning" }];
  const message =
    transform.problem ?? (transform.state === "missing" ? "there is no such file; put it there" : "it does not work");
  return [{ path: transform.module, message, severity: "error" }];
}
