/** Maximum number of messages in a batch, on stdio and over HTTP. */
export const maxBatchMessages = 1_024;
