/**
 * Media: reads documents, pictures, speech and videos for models, as services for plugins and as the tools `image` and `pdf`
 * for agents.
 */
import { join } from "node:path";
import { createSlots } from "@svc/kit/time";
import { definePlugin, live } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { FileOrigins } from "@svc/sdk/files";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Documents, ImageDescriptions, media, Transcription, VideoFrames } from "@svc/sdk/media";
import { ModelAccounts, Models } from "@svc/sdk/models";
import { Secrets } from "@svc/sdk/secrets";
import { Retention } from "@svc/sdk/storage";
import { Tool } from "@svc/sdk/tools";
import { OutboundFetch } from "@svc/sdk/web";
import { AudioConfig, MediaConfig } from "./config.ts";
import { imageModelsOf, type MediaServices } from "./tools/tool-call.ts";
import { createDocuments } from "./documents/documents.ts";
import { imageTool } from "./tools/image-tool.ts";
import { createPdfReader, refuseMore } from "./documents/pdf-reader.ts";
import { pdfTool } from "./tools/pdf-tool.ts";
import { createHandlers } from "./methods.ts";
import { createFfmpeg } from "./programs/ffmpeg.ts";
import { createScratch } from "./programs/scratch.ts";
import { createDescriptions } from "./understanding/descriptions.ts";
import { createFrames } from "./understanding/frames.ts";
import { createTranscription } from "./understanding/transcription.ts";

/** Choice: files that may wait. */
const MAX_WAITING = 50;

export default definePlugin({
  id: "media",
  api: "^1.0.0",
  section: "tools.media",
  config: MediaConfig,
  sections: { audio: AudioConfig },
  requires: {
    host: GatewayInfo,
    models: live(Models),
    accounts: live(ModelAccounts),
    secrets: live(Secrets),
    agents: live(AgentDirectory),
    outbound: live(OutboundFetch),
    origins: live(FileOrigins),
  },
  provides: [Documents, Transcription, ImageDescriptions, VideoFrames],

  setup(gateway) {
    const { clock, services, signal } = gateway;
    let { config } = gateway;
    let { audio } = gateway.sections;
    gateway.configChanged((changed, sections) => {
      config = changed;
      ({ audio } = sections);
    });
    const pdf = createPdfReader({ clock });
    const documents = createDocuments(pdf);
    gateway.provide(Documents, documents);
    gateway.onStop(() => pdf.close());

    const scratch = createScratch(() => join(gateway.stateDir, "files"), clock);
    const reading = {
      config: () => config,
      models: () => services.models.get(),
      accounts: () => services.accounts.get(),
      secrets: () => services.secrets.get(),
      ffmpeg: createFfmpeg(),
      scratch,
      slots: createSlots(() => config.concurrency, MAX_WAITING, refuseMore),
      clock,
      signal,
    };
    const transcription = createTranscription({ ...reading, older: () => audio });
    const agents = () => services.agents.get();
    const descriptions = createDescriptions({ ...reading, imageModels: () => imageModelsOf({ agents }) });
    const frames = createFrames(reading);
    gateway.provide(Transcription, transcription);
    gateway.provide(ImageDescriptions, descriptions);
    gateway.provide(VideoFrames, frames);
    gateway.serve(media, createHandlers({ documents, transcription, descriptions, frames }));
    gateway.extend(Retention, "media", {
      files: ["plugins/media"],
      holds: "files that a program reads: sounds and videos for ffmpeg and transcription commands",
      rule: "until the program ends; what a crash left, an hour later",
      clean: (dryRun) => scratch.clean(dryRun),
    });

    const mediaServices: MediaServices = {
      config: () => config,
      models: () => services.models.get(),
      stateDir: () => services.host.stateDir,
      agents,
      outbound: () => services.outbound.get(),
      origins: () => services.origins.get(),
      documents,
      pdf,
      clock,
    };
    gateway.extend(Tool, "image", imageTool(mediaServices));
    gateway.extend(Tool, "pdf", pdfTool(mediaServices));
  },
});
