/** The account of the tests, for the test process and the processes it starts. */
export const account = { name: 'tester', password: 'pass:word', token: 'token-of-tester' };
export const basic = `Basic ${Buffer.from('tester:pass:word').toString('base64')}`;
export const bearer = 'Bearer token-of-tester';
