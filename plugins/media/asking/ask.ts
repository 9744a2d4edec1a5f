/** Makes one call to a model, and returns the whole answer. */
import { type Clock, unavailable } from "@svc/sdk";
import type { ImageBlock, Models, ResolvedModel, TextBlock, Usage } from "@svc/sdk/models";

export interface Question {
  readonly model: ResolvedModel;
  readonly system: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** Session of the run, for caches of the provider. */
  readonly sessionKey: string;
}

export interface Answer {
  readonly text: string;
  /** `provider/id` */
  readonly model: string;
  /** Absent if the provider reports none. */
  readonly usage?: Usage;
  /** The answer reached the model's length limit. */
  readonly isCut: boolean;
}

/** @throws GatewayError as `Models.stream`, and `UNAVAILABLE` for an empty answer; the signal's reason */
export async function ask(
  { model, system, content, sessionKey }: Question,
  models: Pick<Models, "stream">,
  clock: Pick<Clock, "now">,
  signal: AbortSignal,
): Promise<Answer> {
  const messages = [{ role: "user" as const, content, timestamp: clock.now() }];
  const name = `${model.provider}/${model.id}`;
  let text = "";
  let usage: Usage | undefined;
  let isCut = false;
  for await (const event of models.stream({ model, system, messages, tools: [], sessionKey }, signal)) {
    if (event.type === "text") text += event.delta;
    if (event.type !== "finish") continue;
    usage = event.usage;
    isCut = event.reason === "length";
  }
  if (text.trim() === "") unavailable(`the model ${name} returned no text; try again, or set tools.media.model`);
  return { text: text.trim(), model: name, isCut, ...(usage === undefined ? {} : { usage }) };
}
