/** Runs the transform files of the mappings, and adds the state of the files to the host's list of mappings. */
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

/** Most milliseconds between the end of the transforms and the end of the plugin. */
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
  /** The plan that the transforms were last configured with. */
  #plan: TransformPlan | undefined;
  #ready: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(options: TransformFilesOptions) {
    this.#options = options;
  }

  /** Configures the transforms again if the mappings have changed. Resolves when the transforms were checked; never rejects. */
  follow(): Promise<void> {
    const { transforms: plan } = this.#options.engine;
    const former = this.#plan;
    this.#plan = plan;
    if (plan !== former && JSON.stringify(plan) !== JSON.stringify(former))
      this.#ready = this.#options.transforms.configure(plan);
    return this.#ready;
  }

  /** @returns `undefined` if this plugin stopped meanwhile */
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

  /** Reads the directory again. @returns the problems of the directory and its files */
  async check(): Promise<readonly WebhookProblem[]> {
    const { transforms } = this.#options;
    await this.follow();
    await transforms.refresh();
    const ofDirectory = transforms.problems().map((problem) => ({ ...problem, severity: "error" as const }));
    return [...ofDirectory, ...this.list().flatMap(problemOf)];
  }

  /** Resolves when the current calls have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  /** Stops the transforms and their current calls. */
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
    transform.problem ?? (transform.state === "missing" ? "the file does not exist; create it" : "it cannot be used");
  return [{ path: transform.module, message, severity: "error" }];
}
