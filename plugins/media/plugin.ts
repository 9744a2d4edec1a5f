/** Media: reads documents and pictures, as a service for plugins and as the tools `image` and `pdf` for agents. */
import { definePlugin, live } from "@svc/sdk";
import { AgentDirectory } from "@svc/sdk/agents";
import { FileOrigins } from "@svc/sdk/files";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Documents } from "@svc/sdk/media";
import { Models } from "@svc/sdk/models";
import { Tool } from "@svc/sdk/tools";
import { OutboundFetch } from "@svc/sdk/web";
import { MediaConfig } from "./config.ts";
import type { MediaServices } from "./tools/tool-call.ts";
import { createDocuments } from "./documents/documents.ts";
import { imageTool } from "./tools/image-tool.ts";
import { createPdfReader } from "./documents/pdf-reader.ts";
import { pdfTool } from "./tools/pdf-tool.ts";

export default definePlugin({
  id: "media",
  api: "^1.0.0",
  section: "tools.media",
  config: MediaConfig,
  requires: {
    host: GatewayInfo,
    models: live(Models),
    agents: live(AgentDirectory),
    outbound: live(OutboundFetch),
    origins: live(FileOrigins),
  },
  provides: [Documents],

  setup(gateway) {
    const { clock, services } = gateway;
    let { config } = gateway;
    gateway.configChanged((changed) => {
      config = changed;
    });
    const pdf = createPdfReader({ clock });
    const documents = createDocuments(pdf);
    gateway.provide(Documents, documents);
    gateway.onStop(() => pdf.close());

    const mediaServices: MediaServices = {
      config: () => config,
      models: () => services.models.get(),
      stateDir: () => services.host.stateDir,
      agents: () => services.agents.get(),
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
