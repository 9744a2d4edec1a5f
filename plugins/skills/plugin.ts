/** Skills: folders with instructions that agents read when a task needs them. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "skills", api: "^1.0.0", setup: () => undefined });
