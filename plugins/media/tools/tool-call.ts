/** The part of a call that both tools share, from the sources to the answer. */
import { placeOf } from "@svc/kit/files";
import { withDeadline } from "@svc/kit/time";
import {
  type Clock,
  floorOf,
  invalidRequest,
  isGatewayError,
  notFound,
  outsideOrigin,
  saidAfter,
  Type,
  unavailable,
} from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { FileOrigins } from "@svc/sdk/files";
import { wrapExternalContent } from "@svc/sdk/external-content";
import type { Documents } from "@svc/sdk/media";
import type { ImageBlock, Models, TextBlock } from "@svc/sdk/models";
import type { ToolCall, ToolEffect, ToolResult } from "@svc/sdk/tools";
import type { OutboundFetch } from "@svc/sdk/web";
import { type Answer, ask } from "../asking/ask.ts";
import type { MediaConfig } from "../config.ts";
import { chooseModels } from "../asking/model-choice.ts";
import type { PdfReader } from "../documents/pdf-reader.ts";
import { isAddress, loadSources, type Source } from "./sources.ts";

/** Current services for the tools. */
export interface MediaServices {
  readonly config: () => MediaConfig;
  readonly models: () => Models | undefined;
  /** State directory of the gateway. Agents cannot read files in it, as with the file tools. */
  readonly stateDir: () => string;
  readonly agents: () => Pick<AgentDirectory, "list" | "media"> | undefined;
  readonly outbound: () => OutboundFetch | undefined;
  readonly origins: () => Pick<FileOrigins, "of"> | undefined;
  readonly documents: Pick<Documents, "image">;
  readonly pdf: Pick<PdfReader, "read">;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
}

/** Choice: maximum number of pictures or documents in one call. */
export const MAX_SOURCES = 8;

export const Prompt = Type.String({ minLength: 1, maxLength: 20_000, description: "The question to answer" });
export const ModelRef = Type.Optional(
  Type.String({ minLength: 1, description: "Model to use, as provider/id; omit it unless the user names one" }),
);
/** Schema of one source, and of a list. */
export const sourceParam = (what: string) =>
  Type.String({ minLength: 1, description: `${what}: a path in your workspace, an http(s) URL or a data URL` });
export const sourcesParam = (item: ReturnType<typeof sourceParam>) =>
  Type.Optional(
    Type.Array(item, { minItems: 1, maxItems: MAX_SOURCES, description: "Several sources, compared or read together" }),
  );

/** @throws GatewayError `INVALID_REQUEST` for no source or too many */
export function namesOf(one: string | undefined, several: readonly string[], key: string): readonly string[] {
  const names = [...new Set([...(one === undefined ? [] : [one]), ...several])];
  if (names.length === 0) invalidRequest(`${key} or ${key}s is required: a path in your workspace, or a URL`);
  if (names.length > MAX_SOURCES)
    invalidRequest(`at most ${MAX_SOURCES} sources are allowed in one call; use another call for the rest`);
  return names;
}

/** A call in progress. */
export interface Sitting {
  readonly mediaServices: MediaServices;
  readonly config: MediaConfig;
  readonly call: ToolCall;
  readonly signal: AbortSignal;
}

/** Runs one call within its time limit. */
export function sit(
  mediaServices: MediaServices,
  call: ToolCall,
  signal: AbortSignal,
  work: (sitting: Sitting) => Promise<ToolResult>,
) {
  const config = mediaServices.config();
  const { clock } = mediaServices;
  const { timeoutSeconds } = config;
  const late = () =>
    `the call took longer than ${timeoutSeconds} seconds; ask for less, or raise tools.media.timeoutSeconds`;
  return withDeadline({ ms: timeoutSeconds * 1_000, clock, signals: [signal], late }, (inTime) =>
    work({ mediaServices, config, call, signal: inTime }),
  );
}

/** Effects of a call with these sources. A URL that the model composed can carry data out. */
export function effectsOf(
  one: string | undefined,
  several: readonly string[] = [],
  seen: readonly string[],
): readonly ToolEffect[] {
  const isMadeUp = [...several, ...(one === undefined ? [] : [one])].some(
    (name) => isAddress(name) && !seen.includes(name),
  );
  return isMadeUp ? ["reads", "spends", "sends-out"] : ["reads", "spends"];
}

/**
 * @param maxBytes of one source; default `tools.media.maxBytes`
 * @throws GatewayError `NOT_FOUND`, `INVALID_REQUEST`, `UNAVAILABLE` as `loadSources`
 */
export async function loadAll(
  names: readonly string[],
  allowedMimes: readonly string[],
  { mediaServices, config, call, signal }: Sitting,
  maxBytes: number = config.maxBytes,
): Promise<readonly Source[]> {
  const agents = mediaServices.agents();
  if (!agents?.list().some(({ id }) => id === call.agentId))
    notFound(`agent ${call.agentId} does not exist, so there is no workspace to read from`);
  const { timeoutSeconds } = config;
  const place = await placeOf(call.agentId, { agents, stateDir: mediaServices.stateDir }, false);
  signal.throwIfAborted();
  return loadSources(names, {
    place,
    outbound: mediaServices.outbound(),
    maxBytes,
    timeoutMs: timeoutSeconds * 1_000,
    allowedMimes,
    signal,
  });
}

/** A question to the model. */
export interface Inquiry {
  readonly system: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  readonly model: string | undefined;
  /** References that `agents.defaults` names for this kind of question. */
  readonly preferred: readonly string[];
}

/** Asks the first model that answers. @throws GatewayError as `chooseModels` and `ask`, of the last model */
export async function inquire(
  { system, content, model: asked, preferred }: Inquiry,
  { mediaServices, config, call, signal }: Sitting,
): Promise<Answer> {
  const models = modelsOf(mediaServices);
  const withImages = content.some(({ type }) => type === "image");
  const chosen = chooseModels(models, { configured: config.model, asked, preferred, withImages });
  let last: unknown;
  for (const model of chosen) {
    try {
      return await ask({ model, system, content, sessionKey: call.sessionKey }, models, mediaServices.clock, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isGatewayError(error) || error.code !== "UNAVAILABLE") throw error;
      last = error;
    }
  }
  throw last;
}

/** Models of `agents.defaults` for the tool `image`. */
export function imageModelsOf({ agents }: Pick<MediaServices, "agents">): readonly string[] {
  return agents()?.media?.imageModels ?? [];
}

/** Models of `agents.defaults` for the tool `pdf`. */
export function pdfModelsOf(services: Pick<MediaServices, "agents">): readonly string[] {
  const own = services.agents()?.media?.pdfModels ?? [];
  return own.length > 0 ? own : imageModelsOf(services);
}

export function modelsOf(mediaServices: MediaServices): Models {
  return mediaServices.models() ?? unavailable("no model can be called: the plugin `models` is not running");
}

/**
 * The answer for the agent. An answer about fetched content is marked as external content: a picture can make a model
 * say anything.
 */
export async function resultOf(
  answer: Answer,
  sources: readonly Source[],
  { mediaServices, call }: Pick<Sitting, "mediaServices" | "call">,
  more: object = {},
): Promise<ToolResult> {
  const { text, model, usage, isCut } = answer;
  const fetched = sources.filter(({ isFetched }) => isFetched).map(({ label }) => label);
  const whole = isCut ? `${text}\n[cut: the answer reached the model's length limit]` : text;
  const told =
    fetched.length === 0 ? whole : wrapExternalContent(whole, { source: "web fetch", from: fetched.join(", ") });
  const names = sources.flatMap(({ file }) => file ?? []);
  const ofFiles = names.length === 0 ? undefined : await mediaServices.origins()?.of(call.agentId, names);
  const origin = floorOf([ofFiles, ...fetched.map((label) => outsideOrigin("web", label))]);
  return {
    content: [{ type: "text", text: told }],
    details: { text, model, sources: sources.map(({ label }) => label), ...more, ...(usage ? { usage } : {}) },
    ...(origin ? { origin: saidAfter(origin) } : {}),
  };
}
