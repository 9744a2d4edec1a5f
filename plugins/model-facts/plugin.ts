/** Facts about public models. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "model-facts", api: "^1.0.0", setup: () => undefined });
