/** Scene for the tools, without a gateway: a workspace on disk, scripted models and PDFs. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { GatewayError, notFound, type Principal, withDefaults } from "@svc/sdk";
import type { MediaDefaults } from "@svc/sdk/agents";
import type { FileOrigins } from "@svc/sdk/files";
import type { ModelEvent, ModelRequest, Models, ResolvedModel } from "@svc/sdk/models";
import { createFakeClock } from "@svc/sdk/testing";
import type { Tool, ToolResult } from "@svc/sdk/tools";
import type { OutboundFetch } from "@svc/sdk/web";
import { MediaConfig } from "../../../plugins/media/config.ts";
import type { MediaServices } from "../../../plugins/media/tools/tool-call.ts";
import { createDocuments } from "../../../plugins/media/documents/documents.ts";
import type { PdfContent, PdfJob } from "../../../plugins/media/documents/pdf-job.ts";

export const principal: Principal = {
  id: "t",
  role: "operator",
  scopes: ["operator.read"],
  provenance: "token",
  epoch: 0,
};

export const model = (id: string, input?: readonly string[]): ResolvedModel => ({
  provider: "fake",
  id,
  name: id,
  api: "fake",
  ...(input ? { input } : {}),
});
export const SEES = model("sees", ["text", "image"]);
export const READS = model("reads", ["text"]);

export interface SceneOptions {
  /** Models; the first is the default. */
  readonly models?: readonly ResolvedModel[];
  readonly config?: object;
  /** `agents.defaults` for files. Default: none is set. */
  readonly defaults?: Partial<MediaDefaults>;
  /** Response of a fetch. Default: nothing is fetched. */
  readonly fetched?: { readonly contentType: string; readonly body: Uint8Array };
  readonly pdf?: (job: PdfJob) => Partial<PdfContent>;
  readonly answer?: (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>;
  /** Default: the origin of files is unknown. */
  readonly origins?: Pick<FileOrigins, "of">;
}

const usage = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, totalTokens: 10 };

export async function* says(text: string): AsyncGenerator<ModelEvent> {
  yield { type: "text", delta: text };
  yield { type: "finish", reason: "stop", usage };
}

export async function openScene(t: TestContext, options: SceneOptions = {}) {
  const workspace = await mkdtemp(join(tmpdir(), "svc-media-"));
  t.after(() => rm(workspace, { recursive: true, force: true }));
  const clock = createFakeClock();
  const asked: ModelRequest[] = [];
  const jobs: PdfJob[] = [];
  const urls: string[] = [];

  const pdf: MediaServices["pdf"] = {
    read: async (job) => {
      jobs.push(job);
      return { pageCount: 1, texts: [], pictures: [], isCut: false, ...options.pdf?.(job) };
    },
  };
  const outbound: OutboundFetch = {
    fetch: async ({ url }) => {
      urls.push(url);
      const fetched = options.fetched ?? { contentType: "text/html", body: Buffer.from("no") };
      return { status: 200, url, headers: {}, charset: undefined, ...fetched };
    },
  };
  const mediaServices: MediaServices = {
    config: () => withDefaults(MediaConfig, options.config ?? {}),
    models: () => modelsOf(options.models ?? [SEES], asked, options.answer ?? (() => says("a cat"))),
    stateDir: () => join(workspace, "state"),
    agents: () => ({
      list: () => [
        { id: "main", isDefault: true, workspace },
        { id: "other", isDefault: false, workspace: join(workspace, "other") },
      ],
      media: { imageModels: [], pdfModels: [], ...options.defaults },
    }),
    outbound: () => outbound,
    origins: () => options.origins,
    documents: createDocuments(pdf),
    pdf,
    clock,
  };
  return {
    mediaServices,
    workspace,
    clock,
    asked,
    jobs,
    urls,
    async put(name: string, bytes: Uint8Array) {
      const path = join(workspace, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bytes);
    },
  };
}

export function modelsOf(
  all: readonly ResolvedModel[],
  asked: ModelRequest[],
  answer: NonNullable<SceneOptions["answer"]>,
): Models {
  return {
    list: () =>
      all.map(({ provider, id, name, input }) => ({ provider, id, name, ...(input ? { input: [...input] } : {}) })),
    choices: () => [],
    resolve: (ref) =>
      all.find(({ provider, id }) => ref === undefined || [id, `${provider}/${id}`].includes(ref)) ??
      notFound("no such model"),
    stream: (request, signal) => {
      asked.push(request);
      return answer(request, signal);
    },
    coolingUntil: () => undefined,
  };
}

/** Calls a tool as a run of the agent `main` does. */
export async function use(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal = new AbortController().signal,
): Promise<ToolResult> {
  const call = {
    name: "t",
    toolCallId: "c",
    runId: "r",
    sessionKey: "agent:main:main",
    agentId: "main",
    arguments: args,
  };
  const result = await tool.run(args, { call, principal, signal });
  if (typeof result === "string") throw new GatewayError("INTERNAL", "a tool of this plugin answers with details");
  return result;
}

/** Content sent to the model, pictures as their types. */
export function shown(request: ModelRequest | undefined): readonly string[] {
  const [message] = request?.messages ?? [];
  return (message?.content ?? []).map((block) =>
    block.type === "text" ? block.text : block.type === "image" ? block.mimeType : block.type,
  );
}
