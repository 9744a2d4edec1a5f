import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "update", api: "^1.0.0", setup() {} });
