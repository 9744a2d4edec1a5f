/** The service `FileOrigins`: whose words the files of a workspace hold. */
import type { Origin } from "../origin.ts";
import { defineService } from "../service.ts";

/** Files that were written by runs which were shown words of somebody else than the owner. */
export interface FileOrigins {
  /**
   * @param names files below the agent's workspace
   * @returns with the least authority; `undefined`: as far as is known, all were written by the owner and for him
   */
  of(agentId: string, names: readonly string[]): Promise<Origin | undefined>;
}

/** Whose words files hold. Provided by the plugin whose tools write them. */
export const FileOrigins = defineService<FileOrigins>()("file.origins", "1.0.0");
